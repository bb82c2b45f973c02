package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/config"
)

func newTestTracing(t *testing.T, endpoint string, ratio float64, queue int) *Tracing {
	t.Helper()
	cfg := &config.Tracing{Endpoint: endpoint, SampleRatio: ratio, Service: "test", QueueSize: queue}
	tracing, err := NewTracing(t.Context(), cfg, "test", []string{"all"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return tracing
}

func TestWithoutAnEndpointThereIsNoTracing(t *testing.T) {
	tracing, err := NewTracing(t.Context(), &config.Tracing{}, "test", nil, slog.Default())
	require.NoError(t, err)
	require.Nil(t, tracing.Provider())
	require.Zero(t, tracing.Stats())
	tracing.Close(t.Context())
}

func TestSpansBeyondTheQueueAreDroppedAndCounted(t *testing.T) {
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hanging.Close()
	defer close(release)
	const queue, ended = 8, 50
	tracing := newTestTracing(t, hanging.URL, 1, queue)
	tracer := tracing.Provider().Tracer("test")
	for range ended {
		_, span := tracer.Start(t.Context(), "work")
		span.End()
	}
	require.Equal(t, SpanStats{Dropped: ended - queue, Pending: queue}, tracing.Stats())
	start := time.Now()
	tracing.Close(t.Context())
	require.Less(t, time.Since(start), flushTimeout+5*time.Second, "a collector that hangs does not hold up the end")
}

func TestSpansThatNobodyTakesAreCounted(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	tracing := newTestTracing(t, closed.URL, 1, 8)
	_, span := tracing.Provider().Tracer("test").Start(t.Context(), "work")
	span.End()
	tracing.Close(t.Context())
	require.Equal(t, SpanStats{Failed: 1}, tracing.Stats())
}

func TestTheCallersDecisionAndTheLinksDecideBeforeTheRatio(t *testing.T) {
	caller := func(flags trace.TraceFlags) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true})
	}
	under := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(t.Context(), caller(flags))
	}
	recorded := func(ratio float64, ctx context.Context, options ...trace.SpanStartOption) bool {
		sampler := sdktrace.ParentBased(linkedSampler{sdktrace.TraceIDRatioBased(ratio)})
		provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler))
		_, span := provider.Tracer("test").Start(ctx, "work", options...)
		return span.IsRecording()
	}
	require.True(t, recorded(0, under(trace.FlagsSampled)))
	require.False(t, recorded(1, under(0)))
	require.False(t, recorded(0, t.Context()))
	require.True(t, recorded(1, t.Context()))
	require.True(t, recorded(0, t.Context(), trace.WithLinks(trace.Link{SpanContext: caller(trace.FlagsSampled)})))
	require.False(t, recorded(0, t.Context(), trace.WithLinks(trace.Link{SpanContext: caller(0)})))
}
