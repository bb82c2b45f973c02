package ingest

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	otlpmetrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/internal/exemplar"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/test/promwrite"
)

// TestExemplarsWithoutSamplesAreStored sends exemplars as Prometheus does: each as a series of its own.
func TestExemplarsWithoutSamplesAreStored(t *testing.T) {
	for format, encode := range map[Format]func(...message) string{RemoteWrite: promWrite, RemoteWrite2: promWrite2} {
		p, result, err := acceptAs(t, format, encode(
			plain("le", "1").Exemplar(1000, 0.5, "trace_id", "a"), plain("le", "1").Exemplar(1000, 0.25, "trace_id", "b"),
			plain("le", "1").Exemplar(2000, math.Inf(1)), plain("le", "1", "le", "2").Exemplar(1000, 1, "trace_id", "a"),
			plain("le", "1").Exemplar(0, 1, "trace_id", "no time"), plain("le", "1").Exemplar(1000, 1, "a", "1", "a", "2"),
		))
		require.NoError(t, err)
		require.Equal(t, Result{Errors: []Rejection{}, Exemplars: 3, Positions: result.Positions}, result)
		require.Len(t, result.Positions, 1)
		require.Equal(t, []string{"node/a:1"}, p.created, "the source is created")
		series := nodeSource.String() + ` "up"{"le"="1",} `
		require.Equal(t, map[string]any{
			series + `1000000 exemplar {"trace_id":"a"}`: "0.5", series + `1000000 exemplar {"trace_id":"b"}`: "0.25",
			series + `2000000 exemplar {}`: "+Inf",
		}, p.written(t))
	}
}

func TestExemplarsOfSeriesThatAreNotAcceptedAreDropped(t *testing.T) {
	p := newFakeStores()
	p.maxSeries = 1
	body := promWrite(plain().Sample(1000, 1).Exemplar(1000, 1, "a", "1"))
	result, err := p.pipeline(Limits{}).Accept(t.Context(), RemoteWrite, request(body))
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 0}, []int{result.Accepted, result.Rejected, result.Exemplars}, "one series too many")
	require.Len(t, p.written(t), 1)

	p = newFakeStores()
	p.maxSources = 0
	body = promWrite(plain().Exemplar(1000, 1, "a", "1"))
	result, err = p.pipeline(Limits{}).Accept(t.Context(), RemoteWrite, request(body))
	require.NoError(t, err)
	require.Zero(t, result.Exemplars)
	require.Empty(t, p.messages)

	_, result, err = acceptAs(t, RemoteWrite, promWrite(plain().Sample(-1, 1).Exemplar(1000, 1, "a", "1")))
	require.True(t, fault.Is(err, fault.Invalid), "%v: a request without an accepted sample is refused", err)
	require.Zero(t, result.Exemplars)

	p, pipeline := withRetention(&fakeRetention{sources: map[uuid.UUID]int32{nodeSource: 7}})
	p.sources[nodeSource] = "node/a:1"
	kept := received.AddDate(0, 0, -7).UnixMilli() + 1
	result, err = pipeline.Accept(t.Context(), RemoteWrite, request(promWrite(
		plain().Exemplar(kept, 1, "a", "kept").Exemplar(kept-2, 1, "a", "expired"),
	)))
	require.NoError(t, err)
	require.Equal(t, 1, result.Exemplars)
}

func TestExemplarsOfOneTimeAreBounded(t *testing.T) {
	series := plain()
	for i := range exemplar.MaxOfTime + 2 {
		series = series.Exemplar(1000, float64(i), "id", strconv.Itoa(i))
	}
	_, result, err := acceptAs(t, RemoteWrite, promWrite(series))
	require.NoError(t, err)
	require.Equal(t, exemplar.MaxOfTime, result.Exemplars)
}

func TestRequestsWithTooManyExemplarsAreRefused(t *testing.T) {
	one := message{}.Double(2, 1).Varint(3, 1000)
	labels2 := message{}.Bytes(1, []byte{1, 2})
	for format, encode := range map[Format]func(exemplars int) message{
		RemoteWrite: func(exemplars int) message {
			return promwrite.Request(append(plain(), slices.Repeat(message{}.Bytes(3, one), exemplars)...))
		},
		RemoteWrite2: func(exemplars int) message {
			return symbols("__name__", "up").Bytes(5, append(labels2, slices.Repeat(message{}.Bytes(4, one), exemplars)...))
		},
	} {
		_, result, err := acceptAs(t, format, string(encode(block.MaxExemplars)))
		require.NoError(t, err)
		require.Equal(t, 1, result.Exemplars, "they are equal")
		p, _, err := acceptAs(t, format, string(encode(block.MaxExemplars+1)))
		require.True(t, fault.Is(err, fault.Invalid), "%v", err)
		require.ErrorContains(t, err, "at most 100000 exemplars")
		require.Empty(t, p.messages)
	}
	pt := &otlpmetrics.NumberDataPoint{
		TimeUnixNano: uint64(received.UnixNano()), Value: &otlpmetrics.NumberDataPoint_AsInt{AsInt: 1},
		Exemplars: slices.Repeat([]*otlpmetrics.Exemplar{{}}, block.MaxExemplars+1),
	}
	_, _, err := acceptAs(t, OTLP, otlpBody(t, otlpGauge("m", pt)))
	require.True(t, fault.Is(err, fault.TooLarge), "%v", err)
	require.ErrorContains(t, err, "at most 100000 exemplars")
}

func TestExemplarsWithWrongReferencesAreMalformed(t *testing.T) {
	table := symbols("__name__", "up")
	for _, refs := range [][]byte{{1}, {1, 3}, {1, 2, 1}} {
		body := table.Bytes(5, message{}.Bytes(1, []byte{1, 2}).Sample(1, 1).Bytes(4, message{}.Bytes(1, refs).Varint(3, 1)))
		p, _, err := acceptAs(t, RemoteWrite2, string(body))
		require.True(t, fault.Is(err, fault.Malformed), "%v", err)
		require.ErrorContains(t, err, "timeseries[0].exemplars.labels_refs")
		require.Empty(t, p.messages)
	}
}
