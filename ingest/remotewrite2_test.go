package ingest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/test/promwrite"
)

// promWrite2 returns a request of remote write 2.0 with the series, which are written as in 1.0.
func promWrite2(series ...message) string { return string(promwrite.Request2(series...)) }

// interpretRemoteWrite2 is interpretRemoteWrite for remote write 2.0.
func interpretRemoteWrite2(body []byte) *promReference {
	r := &promReference{verdict: verdict{points: map[string]any{}}}
	var symbols []string
	var series [][]byte
	good := eachField(body, func(field protowire.Number, wire protowire.Type, value []byte, _ uint64) bool {
		switch {
		case wire != protowire.BytesType:
		case field == 1:
			r.otherVersion = true
		case field == 4:
			symbols = append(symbols, string(value))
		case field == 5:
			series = append(series, value)
		}
		return !r.otherVersion
	})
	for i := 0; good && i < len(series); i++ {
		good = r.series2(symbols, series[i])
	}
	r.malformed = !good && !r.otherVersion
	r.invalid = r.accepted == 0 && r.rejected > 0
	return r
}

// series2 parses a TimeSeries of version 2.
func (r *promReference) series2(symbols []string, b []byte) bool {
	var texts []string
	var samples []promSample
	var exemplars []promExemplar
	refer := func(ref uint64) bool {
		if ref >= uint64(len(symbols)) {
			return false
		}
		texts = append(texts, symbols[ref])
		return true
	}
	good := eachField(b, func(field protowire.Number, wire protowire.Type, value []byte, number uint64) bool {
		switch {
		case field == 1 && wire == protowire.VarintType:
			return refer(number)
		case wire != protowire.BytesType:
		case field == 1:
			for len(value) > 0 {
				ref, n := protowire.ConsumeVarint(value)
				if n < 0 || !refer(ref) {
					return false
				}
				value = value[n:]
			}
		case field == 2:
			sample, ok := readPromSample(value)
			samples = append(samples, sample)
			return ok
		case field == 3:
			histogram, ok := readPromHistogram(value)
			samples = append(samples, histogram)
			return ok
		case field == 4:
			e, ok := readPromExemplar(value, referred(symbols))
			exemplars = append(exemplars, e)
			return ok
		}
		return true
	})
	if !good || len(texts)%2 != 0 {
		return false
	}
	var labels [][2]string
	for pair := range slices.Chunk(texts, 2) {
		labels = append(labels, [2]string(pair))
	}
	r.add(labels, samples)
	r.addExemplars(labels, exemplars)
	return true
}

// referred is the texts to which a field of labels refers.
func referred(symbols []string) func(protowire.Type, []byte, uint64) ([]string, bool) {
	return func(wire protowire.Type, value []byte, number uint64) (list []string, ok bool) {
		refs := []uint64{number}
		if wire == protowire.BytesType {
			refs = nil
			for len(value) > 0 {
				ref, n := protowire.ConsumeVarint(value)
				if n < 0 {
					return nil, false
				}
				refs, value = append(refs, ref), value[n:]
			}
		}
		if wire != protowire.BytesType && wire != protowire.VarintType {
			return nil, true
		}
		for _, ref := range refs {
			if ref >= uint64(len(symbols)) {
				return nil, false
			}
			list = append(list, symbols[ref])
		}
		return list, true
	}
}

func requireAgreementOnRemoteWrite2(t require.TestingT, body []byte) {
	requirePromVerdict(t, RemoteWrite2, body, interpretRemoteWrite2(body))
}

// The same series in both versions are the same points.
func TestBothVersionsOfRemoteWriteAreTheSamePoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := promWriter{t: t}
		var list []message
		for range rapid.IntRange(0, 8).Draw(t, "series") {
			list = append(list, w.series())
		}
		want := interpretRemoteWrite([]byte(promWrite(list...)))
		requirePromVerdict(t, RemoteWrite2, []byte(promWrite2(list...)), want)
	})
}

func TestBrokenRemoteWrites2AgreeWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := promWriter{t: t}
		body := []byte(promWrite2(w.series(), w.series()))
		requireAgreementOnRemoteWrite2(t, changeByte(t, body, rapid.Byte()))
	})
}

// symbols returns a symbol table that begins with the empty symbol.
func symbols(texts ...string) (table message) {
	for _, text := range append([]string{""}, texts...) {
		table = table.Text(4, text)
	}
	return table
}

func TestRemoteWrites2AreReadInEveryEncoding(t *testing.T) {
	table := symbols("__name__", "up", "job", "node", "instance", "a:1")
	refs := []byte{1, 2, 3, 4, 5, 6}
	sample := message{}.Bytes(1, refs).Sample(1, 5)
	want := map[string]any{nodeSource.String() + ` "up"{} 1000 n`: 5.0}
	after := func(table message, list ...message) message {
		for _, series := range list {
			table = table.Bytes(5, series)
		}
		return table
	}
	unpacked := message{}.Varint(1, 1).Varint(1, 2).Varint(1, 3).Varint(1, 4).Varint(1, 5).Varint(1, 6)
	started := message{}.Double(1, 5).Varint(2, 1).Varint(3, 1)
	for title, body := range map[string]message{
		"packed":                     after(table, sample),
		"unpacked":                   after(table, unpacked.Sample(1, 5)),
		"packed and unpacked":        after(table, message{}.Bytes(1, refs[:3]).Sample(1, 5).Varint(1, 4).Bytes(1, refs[4:])),
		"the series before symbols":  append(after(nil, sample), table...),
		"metadata and an exemplar":   after(table, sample.Bytes(4, message{}.Double(2, 1)).Bytes(5, message{}.Varint(3, 2))),
		"the time a counter started": after(table, message{}.Bytes(1, refs).Bytes(2, started)),
		"unknown fields":             after(table.Varint(9, 1), sample.Varint(9, 1)),
		"a symbol twice":             after(table.Text(4, "up"), message{}.Bytes(1, []byte{1, 7, 3, 4, 5, 6}).Sample(1, 5)),
		"only metadata after it":     after(table, sample, message{}.Bytes(1, refs).Bytes(5, message{}.Varint(1, 2))),
	} {
		t.Run(title, func(t *testing.T) {
			p, result, err := acceptAs(t, RemoteWrite2, string(body))
			require.NoError(t, err)
			require.Zero(t, result.Rejected, "%+v", result.Errors)
			require.Equal(t, want, p.written(t))
		})
	}
	p, result, err := acceptAs(t, RemoteWrite2, "")
	require.NoError(t, err)
	require.Zero(t, result.Accepted+result.Rejected)
	require.Empty(t, p.written(t))
}

func TestRemoteWrites2WithWrongReferencesAreMalformed(t *testing.T) {
	for title, refs := range map[string]message{
		"not in the table": message{}.Bytes(1, []byte{1, 2, 1, 9}), "far from the table": message{}.Varint(1, 1<<63),
		"a name without a value": message{}.Bytes(1, []byte{1, 2, 1}), "more than 32 bits": message{}.Varint(1, 1<<32+1),
	} {
		good := message{}.Bytes(1, []byte{1, 2}).Sample(1, 1)
		body := append(symbols("__name__", "up"), message{}.Bytes(5, good).Bytes(5, refs.Sample(1, 1))...)
		_, _, err := acceptAs(t, RemoteWrite2, string(body))
		require.True(t, fault.Is(err, fault.Malformed), "%s: %v", title, err)
		require.ErrorContains(t, err, "timeseries[1].labels_refs", title)
	}
	_, _, err := acceptAs(t, RemoteWrite2, promWrite(plain().Sample(1, 1)))
	require.True(t, fault.Is(err, fault.UnsupportedMedia), "%v", err)
	_, _, err = acceptAs(t, RemoteWrite, promWrite2(plain().Sample(1, 1)))
	require.True(t, fault.Is(err, fault.UnsupportedMedia), "%v", err)
}

// A request of few bytes can neither become a large table of symbols nor large labels.
func TestRemoteWrites2AreBounded(t *testing.T) {
	p := newFakeStores()
	accept := func(body message) error {
		_, err := p.pipeline(Limits{}).Accept(context.Background(), RemoteWrite2, request(string(body)))
		return err
	}
	empty := func(n int) message { return bytes.Repeat(message{}.Text(4, ""), n) }
	require.NoError(t, accept(empty(1_000_000)))
	err := accept(empty(1_000_001))
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.ErrorContains(t, err, "symbols")

	many := symbols("__name__", "up", strings.Repeat("x", 1<<20))
	for range 17 {
		many = many.Bytes(5, message{}.Bytes(1, []byte{1, 2, 1, 3}).Sample(1, 1))
	}
	err = accept(many)
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.ErrorContains(t, err, fmt.Sprint(16<<20))
}

// FuzzParseRemoteWrite2 checks that the pipeline accepts and refuses the same bodies as the reference,
// writes the same points, and does not panic.
func FuzzParseRemoteWrite2(f *testing.F) {
	for _, body := range []string{
		"", promWrite(plain().Sample(1, 1)), promWrite2(plain().Sample(1, 1)),
		promWrite2(plain("a", "1", "b", "").Sample(1, 1).Sample(2, stale).Bytes(4, nil)),
		promWrite2(plain().Exemplar(1000, 1, "trace_id", "a").Exemplar(0, 1, "a", "1", "a", "2").Sample(1, 1)),
		promWrite2(plain("é", "\xff").Bytes(2, message{}.Varint(2, 7).Text(9, "x").Double(1, 5))),
		string(append(message{}.Bytes(5, message{}.Varint(1, 1).Varint(1, 2).Sample(1, 1)), symbols("__name__", "up")...)),
		string(symbols("a").Bytes(5, message{}.Bytes(1, []byte{1, 2}).Bytes(5, message{}.Varint(1, 1)))),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireAgreementOnRemoteWrite2(t, body) })
}
