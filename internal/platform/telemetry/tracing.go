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

// Limits of the export of spans. Traced work never waits for the export.
const (
	exportBatch        = 512              // spans in a request to the collector
	exportDelay        = 2 * time.Second  // maximum wait for a full batch
	exportTimeout      = 5 * time.Second  // of one request, and of all attempts to send one batch
	exportRetry        = time.Second      // wait before a retry
	flushTimeout       = 2 * time.Second  // for the spans that remain at shutdown
	failureLogInterval = 30 * time.Second // interval between log messages while sending fails
)

// Tracing sends the spans of this process to a collector. A nil *Tracing is valid: it
// is the Tracing of a process without tracing.
type Tracing struct {
	provider *sdktrace.TracerProvider
	queue    *spanQueue
}

// NewTracing creates a Tracing from the configuration. It returns nil without an endpoint.
// The collector need not be available. version is the version of the build; roles are the
// roles of this process.
func NewTracing(
	ctx context.Context, cfg *config.Tracing, version string, roles []string, logger *slog.Logger,
) (*Tracing, error) {
	if cfg.Endpoint == "" {
		return nil, nil //nolint:nilnil // documented: a process without tracing
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
		sdktrace.WithResource(newResource(cfg, version, roles)),
		sdktrace.WithSampler(sdktrace.ParentBased(linkedSampler{sdktrace.TraceIDRatioBased(cfg.SampleRatio)})),
	)
	return &Tracing{provider: provider, queue: queue}, nil
}

// newResource returns the resource attributes of the spans. It does not use the detectors of
// OpenTelemetry because they add the command line, which can contain passwords.
func newResource(cfg *config.Tracing, version string, roles []string) *resource.Resource {
	instance := cfg.Instance
	if instance == "" {
		host, _ := os.Hostname() // without a host name, use only the process id
		instance = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	return resource.NewSchemaless(
		attribute.String("service.name", cfg.Service),
		attribute.String("service.version", version),
		attribute.String("service.instance.id", instance),
		attribute.StringSlice("livegraph.roles", roles),
	)
}

// linkedSampler samples a new trace that has links to sampled ones. Otherwise the trace of a
// request would end where a batch of several requests starts.
type linkedSampler struct{ fallback sdktrace.Sampler }

// ShouldSample implements sdktrace.Sampler.
func (s linkedSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	for i := range p.Links {
		if p.Links[i].SpanContext.IsSampled() {
			return sdktrace.AlwaysSample().ShouldSample(p)
		}
	}
	return s.fallback.ShouldSample(p)
}

// Description implements sdktrace.Sampler.
func (s linkedSampler) Description() string { return "Linked{" + s.fallback.Description() + "}" }

// Provider returns the provider of tracers, or nil without tracing.
func (t *Tracing) Provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// Stats returns the counts of spans so far.
func (t *Tracing) Stats() SpanStats {
	if t == nil {
		return SpanStats{}
	}
	return t.queue.stats()
}

// Close sends the remaining spans. It waits at most 2 seconds.
func (t *Tracing) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.queue.logger.Warn("the last spans could not be sent", "error", err)
	}
}

// TraceAttrs returns the log attributes for the span of the context, or nil without a
// span.
func TraceAttrs(ctx context.Context) []slog.Attr {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return nil
	}
	return []slog.Attr{slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String())}
}
