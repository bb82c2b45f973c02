package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/config"
)

// Bounds of sending spans. The work that is traced never waits for any of them.
const (
	exportBatch   = 512              // spans in a request to the collector
	exportDelay   = 2 * time.Second  // age at which spans are sent, however few
	exportTimeout = 5 * time.Second  // one request, and all tries of one batch
	exportRetry   = time.Second      // before the first further try
	flushLimit    = 2 * time.Second  // for what is left at the end
	exportSilence = 30 * time.Second // a failure that lasts is said again so often
)

// Tracing sends the spans of this process to a collector. A nil *Tracing is that
// of a process that is not traced.
type Tracing struct {
	provider *sdktrace.TracerProvider
	queue    *spanQueue
}

// NewTracing sets tracing up as configured: nil without an endpoint. It does not
// need the collector to be there. version is the build's; roles are this process's.
func NewTracing(
	ctx context.Context, cfg *config.Tracing, version string, roles []string, logger *slog.Logger,
) (*Tracing, error) {
	if cfg.Endpoint == "" {
		return nil, nil //nolint:nilnil // documented: the tracing of a process that is not traced
	}
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(cfg.URL()),
		otlptracehttp.WithHeaders(cfg.HeaderMap()),
		otlptracehttp.WithTimeout(exportTimeout),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: exportRetry, MaxInterval: exportRetry, MaxElapsedTime: exportTimeout,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("setting up the export of traces: %w", err)
	}
	queue := newSpanQueue(exporter, cfg.QueueSize, logger)
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(queue),
		sdktrace.WithResource(describe(cfg, version, roles)),
		sdktrace.WithSampler(sdktrace.ParentBased(linked{sdktrace.TraceIDRatioBased(cfg.SampleRatio)})),
	)
	return &Tracing{provider: provider, queue: queue}, nil
}

// describe says whose spans these are. It looks at nothing by itself: the command
// line, which OpenTelemetry's detectors would take, can hold passwords.
func describe(cfg *config.Tracing, version string, roles []string) *resource.Resource {
	instance := cfg.Instance
	if instance == "" {
		host, _ := os.Hostname() // without a name the process id has to do
		instance = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	return resource.NewSchemaless(
		attribute.String("service.name", cfg.Service),
		attribute.String("service.version", version),
		attribute.String("service.instance.id", instance),
		attribute.StringSlice("livegraph.roles", roles),
	)
}

// linked samples its own trace that points to sampled ones: without it the
// picture of a request would end where a batch of many begins.
type linked struct{ otherwise sdktrace.Sampler }

// ShouldSample implements sdktrace.Sampler.
func (s linked) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	for i := range p.Links {
		if p.Links[i].SpanContext.IsSampled() {
			return sdktrace.AlwaysSample().ShouldSample(p)
		}
	}
	return s.otherwise.ShouldSample(p)
}

// Description implements sdktrace.Sampler.
func (s linked) Description() string { return "Linked{" + s.otherwise.Description() + "}" }

// Provider returns what parts of the service take their tracers from; nil without
// tracing.
func (t *Tracing) Provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// Stats reports what became of the spans so far.
func (t *Tracing) Stats() SpanStats {
	if t == nil {
		return SpanStats{}
	}
	return t.queue.stats()
}

// Close sends what is left, for two seconds at most.
func (t *Tracing) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushLimit)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.queue.logger.Warn("the last spans could not be sent", "error", err)
	}
}

// TraceOf returns what a log line says of the span of its context: nothing without
// one.
func TraceOf(ctx context.Context) []slog.Attr {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String())}
}
