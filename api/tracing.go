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

// maxTraceState is the maximum size of a tracestate, in bytes. A longer one is ignored, as
// its specification allows.
const maxTraceState = 512

// trace records a span for a request, as a child of the caller's span if there is a
// traceparent. The span contains the route's pattern, the method, the status and the request
// id, never paths, parameters or headers. The response does not contain the trace id; the
// request id links the two.
func (s *Server) trace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == healthPath || r.URL.Path == readyPath {
			next.ServeHTTP(w, r)
			return
		}
		method := knownMethod(r.Method)
		ctx := propagation.TraceContext{}.Extract(r.Context(), traceCarrier(r.Header))
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

// knownMethod returns a standard method, or _OTHER for any other text.
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

// traceCarrier reads the trace context from a request's header. It implements
// propagation.TextMapCarrier. A header that occurs several times is ignored.
type traceCarrier http.Header

// Get implements propagation.TextMapCarrier.
func (c traceCarrier) Get(name string) string {
	values := http.Header(c).Values(name)
	if len(values) != 1 || len(values[0]) > maxTraceState || apikey.MayContainKey(values[0]) {
		return "" // a key in the header must not get into a trace
	}
	return values[0]
}

// Set implements propagation.TextMapCarrier.
func (traceCarrier) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (traceCarrier) Keys() []string { return nil }
