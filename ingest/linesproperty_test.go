package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/ingest/parse/lineprotocol"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// requireAgreementOnLines compares the pipeline with the reference.
func requireAgreementOnLines(t require.TestingT, body []byte, precision string) {
	p := newCachedPipeline()
	withNew := requireAgreementOnLinesBy(t, p, body, precision)
	withCached := requireAgreementOnLinesBy(t, p, body, precision)
	require.Equal(t, withNew, withCached, "%q", body)
}

// requireAgreementOnLinesBy returns the rejections.
func requireAgreementOnLinesBy(
	t require.TestingT, p *cachedPipeline, body []byte, precision string,
) []Rejection {
	want := interpretLines(string(body), precision)
	req := request(string(body))
	req.Precision = precision
	result, err := p.acceptAlone(Lines, req)
	if want.invalid {
		require.True(t, fault.Is(err, fault.Invalid), "%v for %q", err, body)
		require.Empty(t, p.messages)
		var refusal *fault.Error
		require.ErrorAs(t, err, &refusal)
		rejections, _ := refusal.Details["errors"].([]Rejection)
		return rejections
	}
	require.NoError(t, err, "%q", body)
	require.Equal(t, want.accepted, result.Accepted, "%q: %+v", body, result.Errors)
	require.Equal(t, want.rejected, result.Rejected, "%q: %+v", body, result.Errors)
	require.Equal(t, want.points, p.written(t), "%q", body)
	sum := 0
	for _, r := range result.Errors {
		sum += r.Count
		require.Equal(t, *r.Line, r.Index+1)
	}
	require.Equal(t, want.rejected, sum)
	if want.firstBad > 0 {
		require.Equal(t, want.firstBad, *result.Errors[0].Line, "%q: %+v", body, result.Errors)
	}
	return result.Errors
}

// lineWriter writes random lines in unusual forms, some of which are invalid.
type lineWriter struct {
	t *rapid.T
	b strings.Builder
}

func (w *lineWriter) pick(choices ...string) {
	w.b.WriteString(rapid.SampledFrom(choices).Draw(w.t, "pick"))
}

func (w *lineWriter) line() {
	switch rapid.IntRange(0, 15).Draw(w.t, "what") {
	case 0:
		w.pick("", " \t", "# m f=1 1", "#", " # \"")
		return
	case 1:
		w.pick(
			"m", "m ", ",a=b f=1", "m,a f=1", "m,a= f=1", "m,=b f=1", "m f", "m f=", "m =1", "m f=1,", "m f=1 1 1", "m f=\"x",
			"m f=\"x\"y", "m,a=b,a=c f=1",
			"m f=1 x", "m f=1 1.5", "m f=1,,g=2", "m f=1 ,g=2", "m\tf=1", "m f=1\t", "m  f=1", "m,a=b=c f=1", `m\ f=1`,
			`m,a=b\ f=1`, "m f=\"a\nb\" x",
		)
		return
	}
	w.pick("", "", "", " ", "\t ")
	w.pick(
		"m", "boiler", "pump", "cpu\\ load", `a\,b`, `a\=b`, `a\\b`, "naïve😀", strings.Repeat("é", 256),
		strings.Repeat("é", 257), `c:\`, "a=b", `"q"`,
	)
	for range rapid.IntRange(0, 3).Draw(w.t, "tags") {
		w.b.WriteString(",")
		w.pick("host", "a", "b", `k\=1`, `k\,`, `k\ k`, "é")
		w.b.WriteString("=")
		w.pick("1", "2", `x\ y`, `x\,y`, `x\=y`, `c:\dir`, `"`, "日本")
	}
	w.pick(" ", " ", " ", "  ", " \t")
	for i := range rapid.IntRange(1, 4).Draw(w.t, "fields") {
		if i > 0 {
			w.b.WriteString(",")
		}
		w.pick("f", "g", "temp", `f\ f`, `f\=`, `f\,g`, "f\\x", strings.Repeat("é", 257))
		w.b.WriteString("=")
		w.value()
	}
	if rapid.IntRange(0, 3).Draw(w.t, "hasTime") > 0 {
		w.pick(" ", " ", "  ", " \t")
		w.pick(
			"0", "-0", "1", "2", "1000", "1795246808000000000", "1795246808000", "-1", "0001", "99999999999999999999",
			"9223372036854775807",
		)
	}
	w.pick("", "", "", " ", "\r", "  \t", " \r")
}

func (w *lineWriter) value() {
	switch rapid.IntRange(0, 4).Draw(w.t, "value") {
	case 0:
		w.pick(
			`""`, `"on"`, `"a b,c=d"`, `"say \"hi\""`, `"a\\b\c"`, "\"two\nlines\"", "\"# no\n comment\"", `"é😀"`,
			`"`+strings.Repeat("x", 1024)+`"`, `"`+strings.Repeat("x", 1025)+`"`, "\"a\x00b\"",
		)
	case 1:
		w.pick("t", "T", "true", "True", "TRUE", "f", "F", "false", "False", "FALSE", "tRUE", "yes")
	case 2:
		w.pick(
			"1i", "-1i", "+1i", "0i", "007i", "9223372036854775807i", "9223372036854775808i", "1u", "18446744073709551615u",
			"18446744073709551616u", "-1u", "1.0i", "1e3i", "i", "-i",
		)
	case 3:
		w.pick(
			"+1", "1.", ".5", "-.5", "01", "1e400", "1e-400", "NaN", "inf", "0x1", "1_0", ".", "-", "1e", "1E+3", "--1",
			"123456789012345678901234567890",
		)
	default:
		fmt.Fprintf(&w.b, "%.2f", float64(rapid.IntRange(-10_000, 10_000).Draw(w.t, "plain"))/100)
	}
}

func (w *lineWriter) request() []byte {
	w.pick("", "", "", "\ufeff")
	for range rapid.IntRange(1, 10).Draw(w.t, "lines") {
		w.line()
		w.pick("\n", "\n", "\n", "\r\n")
	}
	body := []byte(w.b.String())
	if rapid.Bool().Draw(w.t, "noLastEnd") {
		body = body[:len(body)-1]
	}
	return body
}

var somePrecision = rapid.SampledFrom([]string{"", "", "ns", "n", "u", "us", "ms", "s", "m", "h"})

func TestTheLineParserAgreesWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := lineWriter{t: t}
		requireAgreementOnLines(t, w.request(), somePrecision.Draw(t, "precision"))
	})
}

// TestTheLineParserAgreesWithTheReferenceOnBrokenLines changes a byte or two.
func TestTheLineParserAgreesWithTheReferenceOnBrokenLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := lineWriter{t: t}
		body := w.request()
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			if len(body) == 0 {
				return
			}
			body = changeByte(t, body, rapid.SampledFrom([]byte("\"\\,= \t\r\n#19.eEiu+-tf\x00\xff\xc3z")))
		}
		requireAgreementOnLines(t, body, "")
	})
}

// FuzzLines checks that the pipeline accepts and rejects the same lines as the reference, writes the
// same points, and does not panic.
func FuzzLines(f *testing.F) {
	for _, body := range []string{
		"", "\n", "\ufeff", "# nothing\n", "m f=1", "m,a=1,b=2 f=1i,g=2u,h=t,s=\"x\" 1795246808000000000\n",
		`cpu\ load,ho\=st=a\,b f\ f="say \"hi\"` + "\n" + `there\\" 1` + "\r\n",
		"m f=1 1\nm f=2 2\nm f=\"x\nm f=3 3\nm g=\"y\" 4\n",
		"m,a=1 f=1 1\nm,a=1 f=2 2\nm,a=1 g=3 3\nm,a=1 f=4,g=5 4\n", "m,a= f=1\nm,a=b,a=c f=1\nm f=1e400,g=2\n",
		"m f=1 99999999999999999999\nm f=1 1 1\nm f=NaN\n",
		"m,,=\"\nm f=1 1\n", "m\\", "m,a=b\\ f=1", "m f=\"\\", "m f=1\r\r\n",
	} {
		f.Add([]byte(body), "")
	}
	f.Add([]byte("m f=1 1\nm f=1 -1\nm f=1 9223372036854775807"), "h")
	f.Fuzz(func(t *testing.T, body []byte, precision string) {
		if _, ok := lineprotocol.UnitOf(precision); !ok || len(precision) > 2 {
			precision = ""
		}
		requireAgreementOnLines(t, body, precision)
	})
}
