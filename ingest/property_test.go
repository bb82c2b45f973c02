package ingest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// requireAgreement compares the pipeline with the reference.
func requireAgreement(t require.TestingT, body []byte) {
	_ = requireVerdict(t, JSON, body, interpret(body))
}

// requireVerdict compares the result of the pipeline with that of a reference, and returns the
// error of a refused request.
func requireVerdict(t require.TestingT, format Format, body []byte, want verdict) error {
	p := newCachedPipeline()
	_ = requireVerdictBy(t, p, format, body, want) // with new labels, and then with cached ones
	return requireVerdictBy(t, p, format, body, want)
}

func requireVerdictBy(t require.TestingT, p *cachedPipeline, format Format, body []byte, want verdict) error {
	result, err := p.acceptAlone(format, request(string(body)))
	switch {
	case want.malformed && want.invalid:
		require.True(t, fault.Is(err, fault.Malformed) || fault.Is(err, fault.Invalid), "%v for %q", err, body)
	case want.malformed:
		require.True(t, fault.Is(err, fault.Malformed), "%v for %q", err, body)
	case want.invalid:
		require.True(t, fault.Is(err, fault.Invalid), "%v for %q", err, body)
	default:
		require.NoError(t, err, "%q", body)
		require.Equal(t, want.accepted, result.Accepted, "%q", body)
		require.Equal(t, want.rejected, result.Rejected, "%q", body)
		require.Equal(t, want.points, p.written(t), "%q", body)
		sum := 0
		for _, r := range result.Errors {
			sum += r.Count
		}
		require.Equal(t, want.rejected, sum)
		return nil
	}
	require.Empty(t, p.messages)
	return err
}

// writer writes a random request in unusual but valid JSON.
type writer struct {
	t *rapid.T
	b strings.Builder
}

func (w *writer) pick(choices ...string) string { return rapid.SampledFrom(choices).Draw(w.t, "pick") }

func (w *writer) space() {
	if rapid.IntRange(0, 9).Draw(w.t, "space") == 0 {
		w.b.WriteString(w.pick(" ", "\n", "\t\r\n  "))
	}
}

func (w *writer) token(text string) {
	w.space()
	w.b.WriteString(text)
	w.space()
}

// text writes a string, sometimes with escapes.
func (w *writer) text(s string) {
	w.space()
	w.b.WriteByte('"')
	escape := rapid.IntRange(0, 7).Draw(w.t, "escape") == 0
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			w.b.WriteString(`\` + string(r))
		case r < 0x20 || escape:
			if a, b := utf16.EncodeRune(r); r > 0xffff {
				fmt.Fprintf(&w.b, `\u%04x\u%04X`, a, b)
			} else {
				fmt.Fprintf(&w.b, `\u%04x`, r)
			}
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
	w.space()
}

// object writes an object with the members in random order.
func (w *writer) object(members map[string]func()) {
	names := make([]string, 0, len(members))
	for _, name := range []string{
		"sourceId", "source", "metric", "tags", "precision", "timestamp", "value", "timestamps", "values", "points", "series",
	} {
		if members[name] != nil {
			names = append(names, name)
		}
	}
	w.token("{")
	for i, name := range rapid.Permutation(names).Draw(w.t, "order") {
		if i > 0 {
			w.token(",")
		}
		w.text(name)
		w.token(":")
		members[name]()
	}
	w.token("}")
}

func (w *writer) array(n int, entry func()) {
	w.token("[")
	for i := range n {
		if i > 0 {
			w.token(",")
		}
		entry()
	}
	w.token("]")
}

// identity adds the fields that identify a series. If optional, it omits some, which have defaults.
func (w *writer) identity(members map[string]func(), optional bool) {
	has := func(label string) bool { return !optional || rapid.Bool().Draw(w.t, label) }
	if has("hasSource") {
		if rapid.Bool().Draw(w.t, "byName") {
			members["source"] = func() { w.text(w.pick("boiler", "pump", "boiler", "nobody")) }
		} else {
			members["sourceId"] = func() {
				w.text(w.pick(boiler.String(), pump.String(), strings.ToUpper(boiler.String()), boiler.String()[:35]))
			}
		}
	}
	if has("hasMetric") {
		members["metric"] = func() {
			w.text(w.pick("m", "temperature", "naïve 😀", "m", "a.b\"c\\", strings.Repeat("é", 256)))
		}
	}
	if rapid.Bool().Draw(w.t, "hasTags") {
		members["tags"] = w.tags
	}
}

func (w *writer) tags() {
	keys := rapid.SliceOfNDistinct(
		rapid.SampledFrom([]string{"a", "b", "host", "é", "__proto__", "a b"}), 0, 3, rapid.ID,
	).Draw(w.t, "keys")
	w.token("{")
	for i, key := range keys {
		if i > 0 {
			w.token(",")
		}
		w.text(key)
		w.token(":")
		w.text(w.pick("", "1", "2", "x\ty", "日本"))
	}
	w.token("}")
}

func (w *writer) timestamp() {
	switch rapid.IntRange(0, 5).Draw(w.t, "time") {
	case 0:
		w.text(w.pick(
			"2026-11-21T07:40:08Z", "2026-11-21t07:40:08.1234567+02:00", "2026-02-30T00:00:00Z", "1969-01-01T00:00:00Z", "x",
			"2026-11-22T07:40:08.290296Z", "2026-11-22T07:40:08.290297Z",
		))
	case 1:
		w.token(w.pick("-1", "-0", "0", "1.5", "1e3", "9223372036854775807", "99999999999999999999999"))
	case 2:
		w.token(strconv.FormatInt(received.UnixMilli()+rapid.Int64Range(-100_000_000, 100_000_000).Draw(w.t, "near"), 10))
	default: // few times, so that points have equal ones
		w.token(strconv.Itoa(rapid.IntRange(0, 20).Draw(w.t, "few")))
	}
}

func (w *writer) value() {
	switch rapid.IntRange(0, 6).Draw(w.t, "value") {
	case 0:
		w.text(w.pick("on", "", "é😀", strings.Repeat("x", 1024), strings.Repeat("x", 1025), "a\x00b"))
	case 1:
		w.token(w.pick("true", "false", "-0", "0.0", "1e308", "1e309", "1e-400", "-12.5E+2", "9007199254740993"))
	case 2:
		w.token(strconv.FormatFloat(rapid.Float64().Draw(w.t, "any"), 'g', -1, 64))
	default:
		w.token(strconv.FormatFloat(float64(rapid.IntRange(-10_000, 10_000).Draw(w.t, "plain"))/100, 'f', 2, 64))
	}
}

func (w *writer) request() string {
	top := map[string]func(){}
	w.identity(top, false) // everything has a default, so that any field may be omitted
	if rapid.Bool().Draw(w.t, "hasPrecision") {
		top["precision"] = func() { w.text(w.pick("s", "ms", "us", "ns")) }
	}
	n := rapid.IntRange(1, 12).Draw(w.t, "n")
	if rapid.Bool().Draw(w.t, "rows") {
		top["points"] = func() {
			w.array(n, func() {
				row := map[string]func(){"value": w.value}
				w.identity(row, true)
				if rapid.IntRange(0, 4).Draw(w.t, "hasTime") > 0 {
					row["timestamp"] = w.timestamp
				}
				w.object(row)
			})
		}
	} else {
		top["series"] = func() {
			w.array(n, func() {
				m := rapid.IntRange(0, 6).Draw(w.t, "m")
				series := map[string]func(){
					"timestamps": func() { w.array(m, w.timestamp) },
					"values":     func() { w.array(m, w.value) },
				}
				w.identity(series, true)
				w.object(series)
			})
		}
	}
	w.object(top)
	return w.b.String()
}

func TestTheParserAgreesWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t}
		requireAgreement(t, []byte(w.request()))
	})
}

// TestTheParserAgreesWithTheReferenceOnBrokenRequests changes a byte or two.
func TestTheParserAgreesWithTheReferenceOnBrokenRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t}
		body := []byte(w.request())
		for range rapid.IntRange(1, 2).Draw(t, "changes") {
			body = changeByte(t, body, rapid.SampledFrom([]byte(`{}[],:"\u0019.eE+-tfnaz`+"\x00\xff\xc3 \n")))
			if len(body) == 0 {
				return
			}
		}
		requireAgreement(t, body)
	})
}

// changeByte replaces one byte of a body by one of the others, removes it or repeats it.
func changeByte(t *rapid.T, body []byte, others *rapid.Generator[byte]) []byte {
	i := rapid.IntRange(0, len(body)-1).Draw(t, "at")
	switch rapid.IntRange(0, 2).Draw(t, "how") {
	case 0:
		body[i] = others.Draw(t, "byte")
	case 1:
		body = append(body[:i], body[i+1:]...)
	default:
		body = append(body[:i+1], body[i:]...)
	}
	return body
}
