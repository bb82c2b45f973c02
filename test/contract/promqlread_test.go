package contract_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/contract"
)

// remoteRead sends a message of remote read.
func (l *live) remoteRead(t testing.TB, message []byte) *contract.Answer {
	t.Helper()
	return l.Do(t, contract.Request{
		Method: http.MethodPost, Path: "/prometheus/api/v1/read", Body: string(snappy.Encode(nil, message)),
		Header: map[string]string{"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"},
	})
}

func encodeRead(t testing.TB, request prompb.ReadRequest) []byte {
	t.Helper()
	message, err := request.Marshal()
	require.NoError(t, err)
	return message
}

// readQuery returns a query of the first d of the data for a metric.
func readQuery(metric string, d time.Duration) *prompb.Query {
	return &prompb.Query{
		StartTimestampMs: t0.UnixMilli(), EndTimestampMs: t0.Add(d).UnixMilli(),
		Matchers: []*prompb.LabelMatcher{{Name: "__name__", Value: metric}},
	}
}

func TestRemoteReadsOfPromQL(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.remoteRead(t, encodeRead(t, prompb.ReadRequest{
		Queries: []*prompb.Query{
			readQuery("temp", time.Minute), readQuery("state", time.Hour), readQuery("pressure", time.Hour),
		},
	}))
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	require.Equal(t, "snappy", a.Header.Get("Content-Encoding"))
	message, err := snappy.Decode(nil, a.Body)
	require.NoError(t, err)
	var got prompb.ReadResponse
	require.NoError(t, got.Unmarshal(message))
	require.Len(t, got.Results, 3)
	require.Len(t, got.Results[0].Timeseries, 2)
	first := got.Results[0].Timeseries[0]
	require.Equal(t, []prompb.Label{
		{Name: "__name__", Value: "temp"}, {Name: "room", Value: "A"}, {Name: "source", Value: "boiler"},
	}, first.Labels)
	require.Equal(t, []prompb.Sample{
		{Timestamp: t0.UnixMilli(), Value: 1}, {Timestamp: t0.Add(time.Minute).UnixMilli(), Value: 2},
	}, first.Samples, "the end is included")
	require.Empty(t, got.Results[1].Timeseries, "strings are left out")
	require.Len(t, got.Results[2].Timeseries, 1)

	streamed := f.remoteRead(t, encodeRead(t, prompb.ReadRequest{
		Queries:               []*prompb.Query{readQuery("temp", time.Minute)},
		AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS},
	}))
	require.Equal(t, http.StatusOK, streamed.Status)
	require.Contains(t, streamed.Header.Get("Content-Type"), "application/x-streamed-protobuf")
	require.NotEmpty(t, streamed.Body)
}

func TestInvalidRemoteReadsOfPromQL(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	valid := encodeRead(t, prompb.ReadRequest{Queries: []*prompb.Query{readQuery("a", time.Hour)}})
	many := prompb.ReadRequest{}
	for range 101 {
		many.Queries = append(many.Queries, readQuery("a", time.Hour))
	}
	matcher := func(m prompb.LabelMatcher) []byte {
		return encodeRead(t, prompb.ReadRequest{Queries: []*prompb.Query{{Matchers: []*prompb.LabelMatcher{&m}}}})
	}
	for name, message := range map[string][]byte{
		"no message": []byte("hello"), "cut off": valid[:len(valid)-1], "many queries": encodeRead(t, many),
		"invalid expression": matcher(prompb.LabelMatcher{Type: prompb.LabelMatcher_RE, Name: "a", Value: "("}),
		"unknown type":       matcher(prompb.LabelMatcher{Type: 9, Name: "a", Value: "b"}),
		"unknown answer": encodeRead(t, prompb.ReadRequest{
			Queries: []*prompb.Query{readQuery("a", time.Hour)}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{7},
		}),
	} {
		a := l.remoteRead(t, message)
		a.RequireFailure(t, http.StatusBadRequest, badData, "", nil)
		require.NotContains(t, a.Error.Message, "proto:", name)
	}
	l.remoteRead(t, make([]byte, 1<<20+1)).RequireFailure(t, http.StatusRequestEntityTooLarge, badData, "", nil)
	l.Do(t, contract.Request{Method: http.MethodPost, Path: "/prometheus/api/v1/read", Body: "{}"}).
		RequireFailure(t, http.StatusUnsupportedMediaType, badData, "", nil)
	require.Equal(t, http.StatusOK, l.remoteRead(t, valid).Status)

	made := l.createSource(t, `{"name":"s"}`)
	for i := range 1001 {
		l.register(t, l.Workspace, seriesKey{source: made.ID, metric: "a", tags: map[string]string{"i": fmt.Sprint(i)}})
	}
	l.remoteRead(t, valid).RequireFailure(t, http.StatusUnprocessableEntity, execution, "", nil)
}
