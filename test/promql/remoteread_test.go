package promql_test

import (
	"fmt"
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

// exactSample is a sample with the bits of its value, which distinguish a stale marker from NaN, or the text of its
// histogram.
type exactSample struct {
	ms        int64
	value     uint64
	histogram string
}

// exactSampleOf returns the sample of an iterator.
func exactSampleOf(it chunkenc.Iterator, kind chunkenc.ValueType) (s exactSample) {
	switch kind {
	case chunkenc.ValFloat:
		ms, v := it.At()
		return exactSample{ms, math.Float64bits(v), ""}
	case chunkenc.ValHistogram:
		ms, h := it.AtHistogram(nil)
		return exactSample{ms, math.Float64bits(h.Sum), fmt.Sprint("integers ", h)}
	}
	ms, h := it.AtFloatHistogram(nil)
	return exactSample{ms, math.Float64bits(h.Sum), fmt.Sprint("floats ", h)}
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
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if s := exactSampleOf(it, kind); s.ms >= from && s.ms <= to {
				all[name.String()] = append(all[name.String()], s)
			}
		}
	}
	require.NoError(t, set.Err())
	return all
}
