package promql_test

import (
	"math"
	"net/url"
	"testing"
	"time"

	config "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"
)

// compareReads reads by Prometheus' client of remote read, in both formats, and compares the samples with
// those in the database.
func (o *oracle) compareReads(t *testing.T) {
	t.Helper()
	address, err := url.Parse(o.server.url + "/prometheus/api/v1/read")
	require.NoError(t, err)
	from, to := dataStart+600_000, dataStart+5_000_000
	for _, kind := range []prompb.ReadRequest_ResponseType{
		prompb.ReadRequest_SAMPLES, prompb.ReadRequest_STREAMED_XOR_CHUNKS,
	} {
		client, err := remote.NewReadClient("test", &remote.ClientConfig{
			URL: &config.URL{URL: address}, Timeout: model.Duration(time.Minute), ChunkedReadLimit: 50_000_000,
			AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{kind},
			HTTPClientConfig: config.HTTPClientConfig{
				Authorization: &config.Authorization{Type: "Bearer", Credentials: config.Secret(o.server.admin)},
			},
		})
		require.NoError(t, err)
		for _, selector := range selectors {
			matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(selector)
			require.NoError(t, err)
			query, err := remote.ToQuery(from, to, matchers, nil)
			require.NoError(t, err)
			got, err := client.Read(t.Context(), query, true)
			require.NoError(t, err, selector)
			querier, err := o.db.Querier(from, to)
			require.NoError(t, err)
			want := samplesOf(t, querier.Select(t.Context(), true, nil, matchers...), math.MinInt64, math.MaxInt64)
			require.NoError(t, querier.Close())
			require.Equal(t, want, samplesOf(t, got, from, to), "%s of %s", kind, selector)
		}
	}
}

// exactSample is a sample with the bits of its value, which distinguish a stale marker from NaN.
type exactSample struct {
	ms    int64
	value uint64
}

// samplesOf returns the samples of each series in a range. Clients of streams cut chunks to the range.
func samplesOf(t *testing.T, set storage.SeriesSet, from, to int64) map[string][]exactSample {
	t.Helper()
	all := map[string][]exactSample{}
	last := labels.EmptyLabels()
	for set.Next() {
		name := set.At().Labels()
		require.Negative(t, labels.Compare(last, name), "sorted")
		last = name
		for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; {
			if ms, v := it.At(); ms >= from && ms <= to {
				all[name.String()] = append(all[name.String()], exactSample{ms, math.Float64bits(v)})
			}
		}
	}
	require.NoError(t, set.Err())
	return all
}
