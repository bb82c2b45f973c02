package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tracing"
)

func TestWithoutTracingNothingIsMadeOrAllocated(t *testing.T) {
	tracer := tracing.New(nil, "test")
	require.False(t, tracer.Enabled())
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		within, span := tracer.Start(ctx, trace.SpanKindInternal, "work")
		_, inner := tracer.StartChild(within, trace.SpanKindClient, "statement")
		tracing.End(inner, nil)
		tracing.End(span, nil)
	}))
}

func TestAFailureShowsOnlyItsKind(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)), "test")
	for err, want := range map[error]string{
		fault.Wrap(errors.New("password hunter2"), fault.Unavailable, "hunter2"): "unavailable",
		fmt.Errorf("hunter2: %w", context.DeadlineExceeded):                      "timeout",
		context.Canceled:      "cancelled",
		errors.New("hunter2"): "error",
	} {
		_, span := tracer.Start(t.Context(), trace.SpanKindInternal, "work")
		tracing.End(span, err)
		ended := recorder.Ended()
		last := ended[len(ended)-1]
		require.Equal(t, sdktrace.Status{Code: codes.Error, Description: want}, last.Status())
		require.NotContains(t, fmt.Sprint(last.Attributes(), last.Events()), "hunter2")
	}
}

func TestWorkOfOurOwnMakesNoTrace(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	tracer := tracing.New(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)), "test")
	_, span := tracer.StartChild(t.Context(), trace.SpanKindClient, "statement")
	tracing.End(span, nil)
	require.Empty(t, recorder.Ended())
}
