package telemetry_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/telemetry"
)

func TestMetricsAndProfilesAreServedUntilTheEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- telemetry.ServeMetrics(ctx, listener, telemetry.NewRegistry("v1.2.3", []string{"api", "points"}))
	}()
	get := func(path string) (int, string) {
		response, err := http.Get("http://" + listener.Addr().String() + path)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	status, body := get("/metrics")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `version="v1.2.3"`)
	require.Contains(t, body, `livegraph_role_info{role="points"} 1`)
	require.Contains(t, body, "go_goroutines")
	require.Contains(t, body, "process_resident_memory_bytes")
	for path, want := range map[string]int{
		"/": 200, "/debug/pprof/": 200, "/debug/pprof/goroutine?debug=1": 200, "/debug/pprof/heap": 200,
		"/debug/pprof/cmdline": 404, "/nothing": 404,
	} {
		status, _ := get(path)
		require.Equal(t, want, status, path)
	}
	end()
	require.NoError(t, <-served)
	_, err = net.Dial("tcp", listener.Addr().String())
	require.Error(t, err)
}

func TestAnEngineIsUpWhileItAnswersInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewPedanticRegistry()
		type check = func(context.Context) error
		var answer atomic.Pointer[check]
		answers := func(c check) { answer.Store(&c) }
		answers(func(context.Context) error { return nil })
		prober := telemetry.NewProber(registry, telemetry.Probe{Engine: "kafka", Check: func(ctx context.Context) error {
			return (*answer.Load())(ctx)
		}})
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- prober.Run(ctx) }()
		up := func() float64 {
			families, err := registry.Gather()
			require.NoError(t, err)
			for _, family := range families {
				if family.GetName() == "livegraph_engine_up" {
					return family.GetMetric()[0].GetGauge().GetValue()
				}
			}
			return -1
		}
		synctest.Wait()
		require.EqualValues(t, 1, up())
		answers(func(context.Context) error { return errors.New("unavailable") })
		time.Sleep(6 * time.Second)
		require.EqualValues(t, 0, up())
		answers(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }) // it hangs
		time.Sleep(8 * time.Second)
		require.EqualValues(t, 0, up())
		answers(func(context.Context) error { return nil })
		time.Sleep(8 * time.Second)
		require.EqualValues(t, 1, up())
		end()
		require.NoError(t, <-done)
	})
}
