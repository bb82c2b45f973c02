package otel

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// overHTTP returns the function that creates an exporter of the SDK over HTTP.
func overHTTP(address string, headers map[string]string, options ...otlpmetrichttp.Option) func(*testing.T) export {
	return func(t *testing.T) export {
		t.Helper()
		e, err := otlpmetrichttp.New(t.Context(), append([]otlpmetrichttp.Option{
			otlpmetrichttp.WithEndpoint(address), otlpmetrichttp.WithInsecure(), otlpmetrichttp.WithHeaders(headers),
		}, options...)...)
		require.NoError(t, err)
		return e
	}
}

// overGRPC returns the function that creates an exporter of the SDK over gRPC.
func overGRPC(address string, headers map[string]string, options ...otlpmetricgrpc.Option) func(*testing.T) export {
	return func(t *testing.T) export {
		t.Helper()
		e, err := otlpmetricgrpc.New(t.Context(), append([]otlpmetricgrpc.Option{
			otlpmetricgrpc.WithEndpoint(address), otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithHeaders(headers),
		}, options...)...)
		require.NoError(t, err)
		return e
	}
}

// testAllWays sends the same metrics in every way that the SDK and the collector have: directly and through a
// collector, over HTTP in protobuf and JSON and over gRPC, with each compression.
func testAllWays(t *testing.T) {
	s := running(t)
	at := time.Now().Truncate(time.Millisecond)
	headers := s.headers(s.writer)
	for way, open := range map[string]func(*testing.T) export{
		"sdk-http":      overHTTP(s.http, headers),
		"sdk-http-gzip": overHTTP(s.http, headers, otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression)),
		"sdk-grpc":      overGRPC(s.grpc, headers),
		"sdk-grpc-gzip": overGRPC(s.grpc, headers, otlpmetricgrpc.WithCompressor("gzip")),
	} {
		t.Run(way, func(t *testing.T) {
			send(t, open, sample(way, at))
			requireSample(t, s, way, at)
		})
	}
	for way, exporter := range map[string][]string{
		"http-gzip": {"otlp_http", "compression: gzip"}, "http-zstd": {"otlp_http", "compression: zstd"},
		"http-snappy": {"otlp_http", "compression: snappy"}, "http-none": {"otlp_http", "compression: none"},
		"http-json": {"otlp_http", "encoding: json"}, "grpc-gzip": {"otlp_grpc", "compression: gzip"},
		"grpc-none":  {"otlp_grpc", "compression: none"},
		"grpc-queue": {"otlp_grpc", "sending_queue: {batch: {min_size: 1000}}"},
	} {
		t.Run("collector "+way, func(t *testing.T) {
			c := startCollector(t, s, s.writer, exporter[0], exporter[1:]...)
			send(t, overHTTP(c.http, nil), sample(way, at))
			if way == "grpc-queue" {
				c.stop() // sends what is in the queue
			}
			requireSample(t, s, way, at)
		})
	}
}

// testPartialSuccess sends a good and a bad data point. The clients report the bad one and do not send them again.
func testPartialSuccess(t *testing.T) {
	s := running(t)
	at := time.Now().Truncate(time.Millisecond)
	partly := func(service string) *metricdata.ResourceMetrics {
		m := sample(service, at)
		bad := metricdata.Metrics{Name: "bad", Data: metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{
			{Time: at.Add(48 * time.Hour), Value: 1},
		}}}
		m.ScopeMetrics[0].Metrics = append([]metricdata.Metrics{bad}, m.ScopeMetrics[0].Metrics...)
		return m
	}
	const reason = "resourceMetrics[0].scopeMetrics[0].metrics[0].gauge.dataPoints[0].timeUnixNano: " +
		"is more than a day ahead"
	for way, open := range map[string]func(*testing.T) export{
		"partly-http": overHTTP(s.http, s.headers(s.writer)), "partly-grpc": overGRPC(s.grpc, s.headers(s.writer)),
	} {
		e := open(t)
		err := e.Export(t.Context(), partly(way))
		require.ErrorContains(t, err, "1 metric data points rejected")
		require.ErrorContains(t, err, reason)
		require.NoError(t, e.Shutdown(t.Context()))
		requireSample(t, s, way, at)
	}
	for _, by := range []string{"otlp_http", "otlp_grpc"} {
		c := startCollector(t, s, s.writer, by)
		send(t, overGRPC(c.grpc, nil), partly("partly-"+by))
		requireSample(t, s, "partly-"+by, at)
		c.awaitLog(t, "Partial success response")
		require.Contains(t, c.logged(t), reason)
		require.Contains(t, c.logged(t), `"dropped_data_points":1`)
		require.NotContains(t, c.logged(t), "Will retry")
	}
}

// counting is a proxy to a server that counts requests.
func counting(t *testing.T, address string) (proxy string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		requests.Add(1)
		r.SetURL(&url.URL{Scheme: "http", Host: address})
	}}
	front := httptest.NewServer(forward)
	t.Cleanup(front.Close)
	u, err := url.Parse(front.URL)
	require.NoError(t, err)
	return u.Host, requests
}

// testWrongKey sends metrics with a key that is not valid. The clients report it and drop the metrics.
func testWrongKey(t *testing.T) {
	s := running(t)
	at := time.Now().Truncate(time.Millisecond)
	wrong := s.writer[:len(s.writer)-4] + "0000"
	proxy, requests := counting(t, s.http)
	e := overHTTP(proxy, s.headers(wrong))(t)
	require.ErrorContains(t, e.Export(t.Context(), sample("wrong", at)), http.StatusText(http.StatusUnauthorized))
	require.EqualValues(t, 1, requests.Load(), "it is not sent again")
	err := overGRPC(s.grpc, s.headers(wrong))(t).Export(t.Context(), sample("wrong", at))
	require.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
	unscoped := s.headers(s.writer)
	unscoped["x-workspace-id"] = "00000000-0000-4000-8000-000000000000"
	err = overGRPC(s.grpc, unscoped)(t).Export(t.Context(), sample("wrong", at))
	require.Equal(t, codes.PermissionDenied, status.Code(err), "%v", err)

	requests.Store(0)
	behind := *s
	behind.http = proxy
	for _, by := range []string{"otlp_http", "otlp_grpc"} {
		c := startCollector(t, &behind, wrong, by)
		send(t, overGRPC(c.grpc, nil), sample("wrong", at))
		c.awaitLog(t, "Exporting failed. Dropping data.")
		c.stop()
		require.NotContains(t, c.logged(t), "Will retry")
		require.Contains(t, c.logged(t), "Unauth")
	}
	require.EqualValues(t, 1, requests.Load())
	require.Empty(t, s.promQL(t, `{source="shop/wrong/1"}`, at))
}

// TestACollectorOutlivesKills sends a data point of each of two exporters every few milliseconds through collectors,
// and kills the server meanwhile. Each point is stored, with its value.
func TestACollectorOutlivesKills(t *testing.T) {
	s := newServer(t)
	retries := "retry_on_failure: {initial_interval: 100ms, max_interval: 500ms, max_elapsed_time: 0s}"
	began := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	ways := map[string]*collector{}
	for _, by := range []string{"otlp_http", "otlp_grpc"} {
		ways[by] = startCollector(t, s, s.writer, by, retries, "sending_queue: {queue_size: 10000, num_consumers: 4}")
	}
	exporters := map[string]export{}
	for by, c := range ways {
		exporters[by] = overGRPC(c.grpc, nil)(t)
	}
	sent := 0
	load := func(n int) {
		t.Helper()
		for range n {
			at := began.Add(time.Duration(sent) * time.Millisecond)
			for by, e := range exporters {
				require.NoError(t, e.Export(t.Context(), counted("kills-"+by, at, sent)))
			}
			sent++
			time.Sleep(2 * time.Millisecond) // spreads the points over the kill
		}
	}
	for range 2 {
		load(200)
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			time.Sleep(100 * time.Millisecond) // amid the load
			s.stop(syscall.SIGKILL)
		}()
		load(300)
		<-killed
		s.start(t)
	}
	load(100)
	for by, c := range ways {
		require.NoError(t, exporters[by].Shutdown(t.Context()))
		requireCounted(t, s, "kills-"+by, began, sent)
		require.Contains(t, c.logged(t), "Will retry", "the kill was noticed")
		require.NotContains(t, c.logged(t), "Dropping data")
	}
}

// counted returns a cumulative counter and the delta of the same.
func counted(service string, at time.Time, n int) *metricdata.ResourceMetrics {
	m := sample(service, at)
	points := []metricdata.DataPoint[int64]{{Time: at, Value: int64(n)}}
	m.ScopeMetrics[0].Metrics = []metricdata.Metrics{
		{Name: "total", Data: metricdata.Sum[int64]{
			Temporality: metricdata.CumulativeTemporality, IsMonotonic: true, DataPoints: points,
		}},
		{Name: "part", Data: metricdata.Sum[int64]{
			Temporality: metricdata.DeltaTemporality, IsMonotonic: true,
			DataPoints: []metricdata.DataPoint[int64]{{Time: at, Value: 1}},
		}},
	}
	return m
}

// requireCounted waits until all points of counted are stored, and requires that there are no others.
func requireCounted(t *testing.T, s *server, service string, began time.Time, sent int) {
	t.Helper()
	total, part := make([][2]float64, sent), make([][2]float64, sent)
	for i := range sent {
		ms := float64(began.Add(time.Duration(i) * time.Millisecond).UnixMilli())
		total[i], part[i] = [2]float64{ms, float64(i)}, [2]float64{ms, 1}
	}
	var got map[string][][2]float64
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); time.Sleep(pause) {
		got = s.points(t, "shop/"+service+"/1")
		if len(got[named("total")]) >= sent && len(got[named("part", "__temporality__", "delta")]) >= sent {
			break
		}
	}
	require.Equal(t, total, got[named("total")])
	require.Equal(t, part, got[named("part", "__temporality__", "delta")])
	require.Len(t, got, 3, "and target_info")
}
