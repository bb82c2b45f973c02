package contract_test

import (
	"math"
	"net/http"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/promwrite"
)

// version2 are the headers of remote write 2.0.
var version2 = map[string]string{
	"Content-Type":                      "application/x-protobuf;proto=io.prometheus.write.v2.Request",
	"X-Prometheus-Remote-Write-Version": "2.0.0",
}

// encodeWrite2 returns a compressed request of remote write 2.0 with the series.
func encodeWrite2(series ...promwrite.Message) []byte {
	return snappy.Encode(nil, promwrite.Request2(series...))
}

// written returns the numbers in the headers of a response to remote write 2.0.
func written(h http.Header) []string {
	const prefix, suffix = "X-Prometheus-Remote-Write-", "-Written"
	return []string{
		h.Get(prefix + "Samples" + suffix), h.Get(prefix + "Histograms" + suffix), h.Get(prefix + "Exemplars" + suffix),
	}
}

func TestRemoteWrites2AreCounted(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	a := l.remoteWrite(t, remoteWritePath, encodeWrite2(
		upSeries("a:1", "zone", "b").Sample(marchFirst, 1).Sample(marchFirst+1000, promwrite.Stale()),
		upSeries("b:1", "zone", "b").Sample(marchFirst, 2).Bytes(3, promwrite.Message{}.Double(2, 1)),
	), version2)
	require.Equal(t, http.StatusNoContent, a.Status, "%s", a.Body)
	require.Equal(t, []string{"3", "0", "0"}, written(a.Header))
	names := l.sourceNames(t)
	require.ElementsMatch(t, []string{
		names["node/a:1"] + " up [{zone b}] 2026-03-01T00:00:00Z=1",
		names["node/a:1"] + ` up [{zone b}] 2026-03-01T00:00:01Z="stale"`,
		names["node/b:1"] + " up [{zone b}] 2026-03-01T00:00:00Z=2",
	}, readPointsLog(t, l.broker))

	partly := encodeWrite2(
		upSeries("a:1").Sample(marchFirst, 1).Sample(-1, math.NaN()), upSeries("b:1").Bytes(4, nil),
	)
	a = l.remoteWrite(t, remoteWritePath, partly, version2)
	a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{
		"accepted": 1.0, "rejected": 2.0, "field": "timeseries[0].samples[1].timestamp",
	})
	require.Equal(t, []string{"1", "0", "0"}, written(a.Header))
	got := decode[accepted](t, l.remoteWrite(t, ingestPath, partly, version2), http.StatusCreated)
	require.Equal(t, []int{1, 2}, []int{got.Accepted, got.Rejected})
	require.Len(t, readPointsLog(t, l.broker), 5)

	wrong := promwrite.Message{}.Text(4, "").Bytes(5, promwrite.Message{}.Bytes(1, []byte{0, 7}).Sample(marchFirst, 1))
	a = l.remoteWrite(t, remoteWritePath, snappy.Encode(nil, wrong), version2)
	a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": "timeseries[0].labels_refs"})
	require.Equal(t, []string{"0", "0", "0"}, written(a.Header), "nothing was written")
	require.Len(t, readPointsLog(t, l.broker), 5)

	a = l.remoteWrite(t, remoteWritePath, encodeWrite(upSeries("a:1").Sample(marchFirst, 1)), nil)
	require.Equal(t, http.StatusNoContent, a.Status)
	require.Equal(t, []string{"", "", ""}, written(a.Header), "1.0 has no such headers")
}
