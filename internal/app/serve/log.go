package serve

import (
	"context"
	"io"
	"log/slog"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
)

// NewLogger creates the process's logger and makes it the default.
func NewLogger(cfg config.Log, w io.Writer) *slog.Logger {
	logger := telemetry.NewLogger(cfg, w, func(ctx context.Context) []slog.Attr {
		if id := reply.RequestID(ctx); id != "" {
			return append(telemetry.TraceAttrs(ctx), slog.String("requestId", id))
		}
		return telemetry.TraceAttrs(ctx)
	})
	slog.SetDefault(logger)
	return logger
}
