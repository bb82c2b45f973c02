package reply_test

import (
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/reply"
)

// FuzzCSVText checks that any text is one cell that decodes to the same text, except for the '
// before formulas.
func FuzzCSVText(f *testing.F) {
	for _, text := range []string{
		"", "plain", "=1+1", "+1", "-1", "@SUM(1)", "'quoted", "\tx", "\r=1", "\n=1", `say "hi"`, "a,b", "a\r\nb", "\xff",
		"＝1", "\u202e=1", "\x00", `"`, " =1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := append(reply.AppendCSVText([]byte("before,"), text), ",after\n"...)
		record, err := csv.NewReader(strings.NewReader(string(line))).Read()
		require.NoError(t, err, "%q", line)
		require.Len(t, record, 3, "%q", line)
		require.Equal(t, []string{"before", "after"}, []string{record[0], record[2]})
		cell := record[1]
		require.False(t, cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])), "%q is a formula", cell)
		cell = strings.TrimPrefix(cell, "'")
		require.Equal(t, strings.ReplaceAll(text, "\r\n", "\n"), cell) // that reader converts line ends
	})
}

// FuzzHeaders checks that any Accept header returns one of the forms, and that If-None-Match
// returns 304 only for the tag itself.
func FuzzHeaders(f *testing.F) {
	tag := reply.ETag([]byte("content"))
	for _, text := range []string{
		"", "*", tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "W/", "text/csv;q=0.5, application/json;q=NaN",
		"text/csv; q=Inf", "*/*", "text/csv;;;", ",,,", "\xff",
	} {
		f.Add(text)
	}
	forms := map[string]string{"json": "application/json", "csv": "text/csv"}
	f.Fuzz(func(t *testing.T, text string) {
		require.Contains(t, []string{"json", "csv"}, reply.Negotiate(http.Header{"Accept": {text}}, "json", forms))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["If-None-Match"] = []string{text}
		w := httptest.NewRecorder()
		same := reply.NotModified(w, r, tag)
		require.Equal(t, same, w.Code == http.StatusNotModified)
		require.True(t, !same || strings.Contains(text, "*") || strings.Contains(text, strings.TrimPrefix(tag, "W/")))
	})
}
