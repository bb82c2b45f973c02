// Package telemetry sets up how the process speaks of itself: its log, the
// traces that it sends to a collector, and the listener on which operators read its metrics and profiles.
// What is measured belongs to the packages that measure it.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/livegraph/livegraph/internal/platform/config"
)

// NewLogger creates the process's logger. Attributes that belong to a context,
// such as the request id, are taken from it by fromContext, so that no call can
// forget them.
func NewLogger(cfg config.Log, w io.Writer, fromContext func(context.Context) []slog.Attr) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Level)) // validated by the configuration; else info
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	if cfg.Format == "text" || (cfg.Format == "auto" && isTerminal(w)) {
		handler = slog.NewTextHandler(w, options)
	} else {
		options.ReplaceAttr = inMilliseconds
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(&contextHandler{Handler: handler, fromContext: fromContext})
}

// inMilliseconds writes durations in milliseconds: JSON would have nanoseconds under a name
// that does not say so.
func inMilliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"Ms", float64(a.Value.Duration().Microseconds())/1000)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// contextHandler adds what the context knows to every record.
type contextHandler struct {
	slog.Handler
	fromContext func(context.Context) []slog.Attr
}

// Handle implements slog.Handler.
func (h *contextHandler) Handle(ctx context.Context, record slog.Record) error {
	record.AddAttrs(h.fromContext(ctx)...)
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h *contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &contextHandler{Handler: h.Handler.WithAttrs(attrs), fromContext: h.fromContext}
}

// WithGroup implements slog.Handler.
func (h *contextHandler) WithGroup(name string) slog.Handler {
	return &contextHandler{Handler: h.Handler.WithGroup(name), fromContext: h.fromContext}
}
