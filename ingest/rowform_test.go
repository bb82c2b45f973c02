package ingest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// rowTemplate writes a row as text with the marks T and V for its timestamp and its value.
func rowTemplate(t *rapid.T) string {
	w := writer{t: t}
	row := map[string]func(){
		"timestamp": func() { w.token("\x01T") },
		"value":     func() { w.token("\x01V") },
	}
	w.identity(row, false)
	row["metric"] = func() { w.text(w.pick("m", "temperature", "é\"\\")) }
	row["sourceId"] = func() { w.text(w.pick(boiler.String(), pump.String(), boiler.String()[:35])) }
	delete(row, "source")
	w.object(row)
	return w.b.String()
}

// rowsOfForms writes rows that repeat the text of a few templates with other timestamps and values.
// Sometimes it changes a byte of a row.
func rowsOfForms(t *rapid.T, broken bool) []string {
	templates := rapid.SliceOfN(rapid.Custom(rowTemplate), 1, 3).Draw(t, "templates")
	inTurn := rapid.Bool().Draw(t, "inTurn")
	var rows []string
	for i := range rapid.IntRange(3, 20).Draw(t, "rows") {
		template := templates[i%len(templates)]
		if !inTurn {
			template = rapid.SampledFrom(templates).Draw(t, "template")
		}
		var at, value writer
		at.t, value.t = t, t
		at.timestamp()
		value.value()
		row := strings.NewReplacer("\x01T", at.b.String(), "\x01V", value.b.String()).Replace(template)
		if broken && rapid.IntRange(0, 9).Draw(t, "change") == 0 {
			at := rapid.IntRange(0, len(row)-1).Draw(t, "at")
			row = row[:at] + rapid.SampledFrom([]string{
				"", "0", "9", ".", "e", "-", ",", "}", "{", `"`, `\`, "x", " ", "null", `"a":1,`,
			}).Draw(t, "text") + row[at+rapid.IntRange(0, 1).Draw(t, "removed"):]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestRowsOfOneFormAgreeWithTheReference(t *testing.T) {
	for name, broken := range map[string]bool{"valid": false, "with mistakes": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rows := rowsOfForms(t, broken)
				requireAgreement(t, []byte(`{"points":[`+strings.Join(rows, ",")+`]}`))
				for i := range rows {
					rows[i] = strings.ReplaceAll(rows[i], "\n", " ")
				}
				requireAgreementOnNDJSON(t, []byte(strings.Join(rows, "\n")))
			})
		})
	}
}

// TestRowsOfOneFormAreReadFromEachRow checks one request whose rows have the same form, where the
// values differ in kind and length.
func TestRowsOfOneFormAreReadFromEachRow(t *testing.T) {
	var rows []string
	for _, r := range []string{
		`1,"value":1`, `22,"value":-2.5e1`, `333,"value":"on"`, `4,"value":true`, `"1970-01-01T00:00:05Z","value":0`,
	} {
		rows = append(rows, `{`+someSource+`,"metric":"m","timestamp":`+r+`,"tags":{"a":"b"}}`)
	}
	p, result, err := acceptAs(t, JSON, `{"points":[`+strings.Join(rows, ",")+`]}`)
	require.NoError(t, err)
	require.Equal(t, len(rows), result.Accepted, "%+v", result.Errors)
	require.Len(t, p.written(t), len(rows))
}
