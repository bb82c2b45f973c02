package api

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/tracing"
)

// maxTraceState is the maximum number of bytes of a tracestate that are looked at; a longer
// one is left out, as its specification allows.
const maxTraceState = 512

// trace records a request, under the caller's trace if it sent a traceparent. The
// span tells of the route's pattern and the status, never of paths, parameters or
// headers. The answer tells nothing of the trace: the request id, which it has, is
// in the span.
func (s *Server) trace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == healthPath || r.URL.Path == readyPath {
			next.ServeHTTP(w, r)
			return
		}
		method := knownMethod(r.Method)
		ctx := propagation.TraceContext{}.Extract(r.Context(), caller(r.Header))
		ctx, span := s.tracer.Start(ctx, trace.SpanKindServer, method)
		defer func() {
			status, pattern := exchangeOf(ctx).sent.code(), chi.RouteContext(ctx).RoutePattern()
			if pattern != "" {
				span.SetName(method + " " + pattern)
				span.SetAttributes(attribute.String("http.route", pattern))
			}
			span.SetAttributes(
				attribute.String("http.request.method", method),
				attribute.Int("http.response.status_code", status),
				tracing.RequestID.String(reply.RequestID(ctx)),
			)
			if status == 0 || status >= http.StatusInternalServerError { // 0: cut off
				span.SetStatus(codes.Error, "")
				span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
			}
			span.End()
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// knownMethod bounds what callers can make up.
func knownMethod(method string) string {
	known := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions,
	}
	if slices.Contains(known, method) {
		return method
	}
	return "_OTHER"
}

// caller is what a request says of its caller's trace, as a
// propagation.TextMapCarrier that is only read. What is not exactly one
// traceparent is none.
type caller http.Header

// Get implements propagation.TextMapCarrier.
func (c caller) Get(name string) string {
	values := http.Header(c).Values(name)
	if len(values) != 1 || len(values[0]) > maxTraceState || apikey.Within(values[0]) {
		return "" // who puts a key there does not find it in a trace
	}
	return values[0]
}

// Set implements propagation.TextMapCarrier.
func (caller) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (caller) Keys() []string { return nil }
