package ingest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/metricmetadata"
	"github.com/livegraph/livegraph/test/promwrite"
)

func TestMetadataOfRemoteWritesIsRead(t *testing.T) {
	described := func(kind uint64, metric, help, unit string) message {
		return message{}.Varint(1, kind).Text(2, metric).Text(4, help).Text(5, unit)
	}
	one := message(promWrite(plain().Sample(1, 1)))
	for _, m := range []message{
		described(1, "requests", "Total.", ""), described(4, "sizes", "", "bytes"), described(99, "odd", "x", "y"),
		described(1, "", "without a name", ""), message{}.Text(2, "bare"),
	} {
		one = one.Bytes(3, m)
	}
	one = append(one, message{}.Bytes(3, []byte("no message"))...)

	labelled := func(refs ...byte) message {
		return message{}.Bytes(1, append([]byte{1, 2}, refs...)).Sample(1, 1)
	}
	two := symbols("__name__", "sizes_bucket", "le", "1", "+Inf", "How large.", "bytes", "up")
	of := func(kind, help, unit uint64) message {
		return message{}.Varint(1, kind).Varint(3, help).Varint(4, unit)
	}
	for _, series := range []message{
		labelled().Bytes(5, of(3, 6, 7)), labelled(3, 4).Bytes(5, of(3, 6, 7)),
		message{}.Bytes(1, []byte{1, 8}).Bytes(5, of(2, 0, 0)), message{}.Bytes(1, []byte{1, 8}).Sample(1, 1),
		message{}.Bytes(1, []byte{1, 8}).Bytes(5, of(1, 99, 99)), message{}.Bytes(1, []byte{1, 8}).Bytes(5, []byte("x")),
		message{}.Bytes(1, []byte{3, 4}).Bytes(5, of(1, 0, 0)),
	} {
		two = two.Bytes(5, series)
	}
	for _, c := range []struct {
		format Format
		body   message
		want   []metricmetadata.Metadata
	}{
		{RemoteWrite, one, []metricmetadata.Metadata{
			{Metric: "requests", Type: "counter", Help: "Total."}, {Metric: "sizes", Type: "gaugehistogram", Unit: "bytes"},
			{Metric: "odd", Type: "unknown", Help: "x", Unit: "y"}, {Metric: "bare", Type: "unknown"},
		}},
		{RemoteWrite2, two, []metricmetadata.Metadata{
			{Metric: "sizes", Type: "histogram", Help: "How large.", Unit: "bytes"}, {Metric: "up", Type: "gauge"},
			{Metric: "up", Type: "counter"},
		}},
	} {
		p, result, err := acceptAs(t, c.format, string(c.body))
		require.NoError(t, err)
		require.Positive(t, result.Accepted)
		require.Equal(t, c.want, p.metadata, c.format)
	}
}

// The metadata of a request is bounded, and does not make it fail.
func TestMetadataOfARequestIsBounded(t *testing.T) {
	many := message(promWrite(plain().Sample(1, 1)))
	metadata := message{}.Bytes(3, message{}.Text(2, "a")).Bytes(3, message{}.Text(2, "b"))
	p, _, err := acceptAs(t, RemoteWrite, string(slices.Concat(many, slices.Repeat(metadata, 10_000))))
	require.NoError(t, err)
	require.Len(t, p.metadata, 10_000)
	p, _, err = acceptAs(t, RemoteWrite2, string(promwrite.Request2(plain().Sample(1, 1))))
	require.NoError(t, err)
	require.Empty(t, p.metadata)
}
