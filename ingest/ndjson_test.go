package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// acceptAs sends a body in the given format through a new pipeline.
func acceptAs(t testing.TB, format Format, body string) (*fakeStores, Result, error) {
	t.Helper()
	p := newFakeStores()
	result, err := p.pipeline(Limits{}).Accept(context.Background(), format, request(body))
	return p, result, err
}

// lineOf returns the line in an error's details, 0 for none.
func lineOf(t testing.TB, err error) int {
	t.Helper()
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	line, _ := fe.Details["line"].(int)
	return line
}

const (
	lineRow    = `{` + someSource + `,"metric":"m","timestamp":1,"value":1}`
	lineSeries = `{` + someSource + `,"metric":"m","timestamps":[2,3],"values":[2,"x"]}`
)

func TestLinesOfJSONAreTakenInEveryForm(t *testing.T) {
	one := fmt.Sprintf(`%s "m"{} `, boiler)
	row, series := map[string]any{one + "1000 n": 1.0}, map[string]any{one + "2000 n": 2.0, one + "3000 s": "x"}
	both := map[string]any{one + "1000 n": 1.0, one + "2000 n": 2.0, one + "3000 s": "x"}
	for name, c := range map[string]struct {
		body string
		want map[string]any
	}{
		"a row":                     {lineRow, row},
		"a row and the end of line": {lineRow + "\n", row},
		"CR LF":                     {lineRow + "\r\n" + lineSeries + "\r\n", both},
		"blank lines":               {"\n \t\r\n\n" + lineRow + "\n\n\r\n", row},
		"a series":                  {lineSeries, series},
		"a series, then a row":      {lineSeries + "\n" + lineRow, both},
		"a row, then a series":      {lineRow + "\n" + lineSeries, both},
		"by turns":                  {lineRow + "\n" + lineSeries + "\n" + lineRow + "\n" + lineSeries, both},
		"spaces around":             {"  " + lineRow + " \t\n\t" + lineSeries, both},
		"escaped names": {
			strings.ReplaceAll(lineSeries, "timestamps", `t\u0069mestamps`) + "\n" + lineRow, both,
		},
		"names inside of other text": {`{` + someSource + `,"metric":"m","timestamp":1,"value":1,"tags":{}}`, row},
		"the last stands": {
			lineRow + "\n" + strings.ReplaceAll(lineSeries, "[2,3]", "[1,3]"),
			map[string]any{one + "1000 n": 2.0, one + "3000 s": "x"},
		},
		"a series' name as a value": {
			`{` + someSource + `,"metric":"m","timestamp":1,"value":"timestamps"}`, map[string]any{one + "1000 s": "timestamps"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, result, err := acceptAs(t, NDJSON, c.body)
			require.NoError(t, err)
			require.Zero(t, result.Rejected, "%+v", result.Errors)
			require.Equal(t, c.want, p.written(t))
		})
	}
}

func TestALineThatIsNotOfTheFormRefusesTheRequestAndIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		line, field, reason string
		kind                fault.Kind
	}{
		"no JSON": {`{`, "body", "ends too early", fault.Malformed},
		"an object over lines": {
			"{" + someSource + "\n" + `,"metric":"m","value":1}`, "body", "ends too early", fault.Malformed,
		},
		"text after it":     {lineRow + lineRow, "body", "has text after the JSON value", fault.Malformed},
		"a comma after it":  {lineRow + ",", "body", "has text after the JSON value", fault.Malformed},
		"an array":          {"[" + lineRow + "]", "body", "must be an object, not an array", fault.Malformed},
		"null":              {"null", "body", "must be an object, not null", fault.Malformed},
		"BOM":               {"\ufeff" + lineRow, "body", "is not valid JSON", fault.Malformed},
		"invalid UTF-8":     {`{"metric":"` + "\xff" + `"}`, "metric", "is not valid UTF-8", fault.Malformed},
		"a comment":         {"# " + lineRow, "body", "is not valid JSON", fault.Malformed},
		"a request of JSON": {`{"points":[` + lineRow + `]}`, "points", "is not a known field", fault.Malformed},
		"unknown field": {
			`{` + someSource + `,"metric":"m","value":1,"extra":1}`, "extra", "is not a known field", fault.Malformed,
		},
		"unknown in a series": {
			`{` + someSource + `,"metric":"m","values":[1],"timestamps":[1],"extra":1}`, "extra", "is not a known field",
			fault.Malformed,
		},
		"twice": {
			`{` + someSource + `,"metric":"m","value":1,"value":2}`, "value", "is given more than once", fault.Malformed,
		},
		"nothing":   {`{}`, "sourceId", "is required", fault.Malformed},
		"no value":  {`{` + someSource + `,"metric":"m"}`, "value", "is required", fault.Malformed},
		"no metric": {`{` + someSource + `,"value":1}`, "metric", "is required", fault.Malformed},
		"timestamps alone": {
			`{` + someSource + `,"metric":"m","timestamps":[1]}`, "values", "is required", fault.Malformed,
		},
		"row and series": {
			`{` + someSource + `,"metric":"m","value":1,"timestamps":[1]}`, "value", "is not a known field", fault.Malformed,
		},
		"wrong type": {
			`{` + someSource + `,"metric":1,"value":1}`, "metric", "must be a string, not a number", fault.Malformed,
		},
		"wrong type of a tag": {
			`{` + someSource + `,"metric":"m","value":1,"tags":{"a":null}}`, "tags.a", "must be a string, not null",
			fault.Malformed,
		},
		"wrong type of a value": {
			`{` + someSource + `,"metric":"m","timestamps":[1],"values":[null]}`, "values[0]",
			"must be a number, a boolean or a string, not null", fault.Malformed,
		},
		"lengths": {
			`{` + someSource + `,"metric":"m","timestamps":[1,2],"values":[1]}`, "values",
			"must have as many entries as timestamps: 2, not 1", fault.Invalid,
		},
	} {
		for before, lines := range map[string]int{
			"": 0, lineRow + "\n\n": 2, lineSeries + "\r\n": 1, "\n" + lineRow + "\n" + lineSeries + "\n": 3,
		} {
			p, _, err := acceptAs(t, NDJSON, before+c.line+"\n"+lineRow+"\n")
			require.Error(t, err, name)
			kind, field, reason := problem(t, err)
			require.Equal(t, c.kind, kind, name)
			require.Equal(
				t, []any{c.field, c.reason, lines + 1}, []any{field, reason, lineOf(t, err)}, "%s after %q", name, before,
			)
			require.Empty(t, p.messages)
		}
	}
}

func TestRejectedPointsOfLinesNameTheLine(t *testing.T) {
	body := strings.Join([]string{
		lineRow, "",
		`{` + someSource + `,"metric":"m","timestamp":-1,"value":1}`,
		`{` + someSource + `,"metric":"m","timestamps":[1,2,3],"values":[1,1e999,1e999]}`,
		`{"source":"nobody","metric":"m","value":1}`,
		`{` + someSource + `,"metric":"m","value":1,"tags":{"a":"\u0000"}}`,
		`{` + someSource + `,"metric":"new","value":1}`,
	}, "\r\n")
	p := newFakeStores()
	p.maxSeries = 1
	result, err := p.pipeline(Limits{}).Accept(t.Context(), NDJSON, request(body))
	require.NoError(t, err)
	at := func(n int) *int { return &n }
	require.Equal(t, 2, result.Accepted)
	require.Equal(t, 6, result.Rejected)
	require.Equal(t, []Rejection{
		{Index: 2, Line: at(3), Field: "timestamp", Reason: rejection.TimeEarly.Text(), Count: 1},
		{Index: 3, Line: at(4), Position: at(1), Field: "values[1]", Reason: rejection.ValueRange.Text(), Count: 2},
		{Index: 4, Line: at(5), Field: "source", Reason: rejection.SourceUnknown.Text(), Count: 1},
		{Index: 5, Line: at(6), Field: "tags.a", Reason: rejection.TagValueNUL.Text(), Count: 1},
		{Index: 6, Line: at(7), Field: "body", Reason: rejection.SeriesLimit.Text(), Count: 1},
	}, result.Errors)

	req := request(body)
	req.Strict = true
	_, err = p.pipeline(Limits{}).Accept(t.Context(), NDJSON, req)
	kind, field, _ := problem(t, err)
	require.Equal(t, fault.Invalid, kind)
	require.Equal(t, []any{"timestamp", 3}, []any{field, lineOf(t, err)})
}

func TestLinesOfJSONAreBounded(t *testing.T) {
	for _, body := range []string{"", "\n", " \r\n\n"} {
		_, _, err := acceptAs(t, NDJSON, body)
		kind, field, reason := problem(t, err)
		require.Equal(t, []any{fault.Invalid, "body", "must hold at least one point"}, []any{kind, field, reason})
	}
	p := newFakeStores()
	for body, ok := range map[string]bool{
		strings.Repeat(lineRow+"\n", 10): true, strings.Repeat(lineRow+"\n", 11): false,
		strings.Repeat(lineSeries+"\n", 5): true, strings.Repeat(lineSeries+"\n", 5) + lineRow: false,
		strings.Repeat(lineRow+"\n", 9) + lineSeries: false,
	} {
		_, err := p.pipeline(Limits{MaxPoints: 10}).Accept(t.Context(), NDJSON, request(body))
		if ok {
			require.NoError(t, err)
			continue
		}
		kind, field, _ := problem(t, err)
		require.Equal(t, []any{fault.Invalid, "body"}, []any{kind, field})
	}
}

// interpretNDJSON is the reference for NDJSON. It also returns the line that makes the request
// malformed or invalid.
func interpretNDJSON(body []byte) (verdict, int) {
	r := reference{verdict: verdict{points: map[string]any{}}}
	r.unit, r.defaults = big.NewRat(1000, 1), map[string]any{}
	for n, line := range bytes.Split(body, []byte("\n")) {
		if len(bytes.Trim(line, " \t\r")) == 0 {
			continue
		}
		r.line(line)
		if r.malformed || r.invalid {
			return r.verdict, n + 1
		}
	}
	r.invalid = r.accepted == 0
	return r.verdict, 0
}

func (r *reference) line(line []byte) {
	if !jsontext.Value(line).IsValid() {
		r.malformed = true
		r.invalid = jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true)) // either error is correct
		return
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil || object == nil {
		r.malformed = true
		return
	}
	_, times := object["timestamps"]
	_, values := object["values"]
	if times || values {
		r.series(object)
	} else {
		r.row(object)
	}
}

// requireAgreementOnNDJSON compares the pipeline with the reference, including the line in errors.
func requireAgreementOnNDJSON(t require.TestingT, body []byte) {
	want, line := interpretNDJSON(body)
	err := requireVerdict(t, NDJSON, body, want)
	if line == 0 {
		return
	}
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	require.Equal(t, line, fe.Details["line"], "%q", body)
}

// lines writes one row or series per line, without line ends within them.
func (w *writer) lines() string {
	var lines []string
	for range rapid.IntRange(1, 8).Draw(w.t, "lines") {
		w.b.Reset()
		members := map[string]func(){}
		w.identity(members, false)
		if rapid.Bool().Draw(w.t, "row") {
			members["value"] = w.value
			if rapid.IntRange(0, 4).Draw(w.t, "hasTime") > 0 {
				members["timestamp"] = w.timestamp
			}
		} else {
			m := rapid.IntRange(0, 4).Draw(w.t, "m")
			members["timestamps"] = func() { w.array(m, w.timestamp) }
			members["values"] = func() { w.array(m, w.value) }
		}
		w.object(members)
		lines = append(lines, strings.ReplaceAll(w.b.String(), "\n", " "))
	}
	return strings.Join(lines, w.pick("\n", "\r\n", "\n\n", "\n \t\n"))
}

func TestLinesOfJSONAgreeWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t}
		requireAgreementOnNDJSON(t, []byte(w.lines()))
	})
}

func TestBrokenLinesOfJSONAgreeWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t}
		body := []byte(w.lines())
		body = changeByte(t, body, rapid.SampledFrom([]byte(`{}[],:"\u0019.eE+-tfnazs`+"\x00\xff\xc3\r\n")))
		requireAgreementOnNDJSON(t, body)
	})
}

// FuzzParseNDJSON checks that the pipeline accepts and refuses the same bodies as the reference,
// names the same line, and does not panic.
func FuzzParseNDJSON(f *testing.F) {
	for _, body := range []string{
		"", "\n", "\r\n\r\n", lineRow, lineSeries, lineRow + "\n" + lineSeries + "\n", lineSeries + "\r\n" + lineRow, "{\n}",
		"[]", "\ufeff" + lineRow,
		lineRow + lineRow, `{"values":[],"timestamps":[]}`, `{"source":"pump","metric":"m","value":"\ud800"}`,
		`{"metric":"m","source":"pump","value":1,"timestamps":[1]}`,
		`{"source":"pump","metric":"m","timestamps":[1,-1],"values":[1e999,"x"],"tags":{"b":"1","a":"2"}}` +
			"\n" + `{"source":"pump","metric":"m","value":true,"tags":{"a":"2","b":"1"}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireAgreementOnNDJSON(t, body) })
}
