package cli

import (
	"encoding/csv"
	"strings"

	"github.com/stretchr/testify/require"
)

// testPointsByCommandLine lists sources and series and queries points, in each form.
func testPointsByCommandLine(w *workspace) {
	t := w.t
	kettle := w.createSource(map[string]any{
		"name": "kettle", "unit": "°C", "tags": map[string]string{"room": "cellar"},
	})
	w.measure("kettle", "temp", 71.5)
	w.measure("kettle", "state", "on\x1b[31m")

	require.Regexp(t, `(?m)^kettle +`+kettle+` +(active|stale) .*°C +room=cellar`,
		w.ok(w.in("sources", "list", "--tag", "room=cellar")...))
	require.Contains(t, w.ok(w.in("sources", "list", "--name", "nothing")...), "0 sources")
	require.Regexp(t, `(?m)^kettle +temp +number +1 `, w.ok(w.in("series", "list", "--source", "kettle")...))
	require.Regexp(t, `1 of 2 series; next page: --cursor \S+\n$`, w.ok(w.in("series", "list", "--limit", "1")...))

	table := w.ok(w.in("query", "--source", "kettle", "--from", "2h")...)
	require.Regexp(t, `(?m)^TIMESTAMP +SOURCE +METRIC +UNIT +VALUE$`, table)
	require.Regexp(t, `(?m)^\S+Z +kettle +temp +°C +71.5$`, table)
	require.NotContains(t, table, "\x1b", "a value cannot drive the terminal")
	require.Regexp(t, `(?m)^\S+Z +kettle +temp +°C +1 +71.5$`, w.ok(w.in(
		"query", "--source-id", kettle, "--metric", "temp", "--aggregation", "count,max", "--interval", "1h",
		"--timezone", "Europe/Berlin", "--fill", "none", "--group-by", "sourceId,metric",
	)...))
	require.Contains(t, w.ok(w.in("query", "--tag", "room=attic")...), "no points; widen --from and --to")
	require.Contains(t, w.ok(w.in("query", "--latest", "--format", "ndjson", "--metric", "temp")...), `71.5`)
	require.Regexp(t, `^PAR1(?s:.*)kettle(?s:.*)PAR1$`, w.ok(w.in("query", "--latest", "--format", "parquet")...))
	require.Regexp(t, `^\x{FFFD}{4}(?s:.*)kettle`, w.ok(w.in("query", "--latest", "--format", "arrow")...))
	rows, err := csv.NewReader(strings.NewReader(
		w.ok(w.in("query", "--latest", "--metric", "temp", "--format", "csv")...),
	)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, kettle, rows[1][1])
	answer := decode[struct {
		Data []struct{ Points [][]any }
	}](t, w.ok(w.in("query", "--latest", "--metric", "temp", "--json")...))
	require.InDelta(t, 71.5, answer.Data[0].Points[0][1], 0)

	for message, args := range map[string][]string{
		"--limit: must be":              w.in("sources", "list", "--limit", "0"),
		"--from: must be":               w.in("query", "--from", "never"),
		"aggregation":                   w.in("query", "--aggregation", "best"),
		`must be one of "table","csv",`: w.in("query", "--format", "xml"),
		"is not a UUID":                 {"query", "--workspace", "plant"},
	} {
		require.Contains(t, w.bad(args...), message)
	}
}
