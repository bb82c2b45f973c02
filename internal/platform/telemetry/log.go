// Package telemetry sets up the logs, the traces and the metrics of the process: the
// logger, the export of spans to a collector, and the listener for metrics and profiles.
// The metrics themselves are defined by the packages that they measure.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/livegraph/livegraph/internal/platform/config"
)

// NewLogger creates the logger of the process. It adds the attributes that fromContext
// returns, such as the request id, to every record.
func NewLogger(cfg config.Log, w io.Writer, fromContext func(context.Context) []slog.Attr) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Level)) // validated by the configuration; info on error
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	if cfg.Format == "text" || (cfg.Format == "auto" && isTerminal(w)) {
		handler = slog.NewTextHandler(w, options)
	} else {
		options.ReplaceAttr = durationsInMilliseconds
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(&contextHandler{Handler: handler, fromContext: fromContext})
}

// durationsInMilliseconds replaces durations by milliseconds and adds the unit to the key. The
// JSON handler would write nanoseconds without a unit.
func durationsInMilliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"Ms", float64(a.Value.Duration().Microseconds())/1000)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// contextHandler adds the attributes of the context to every record.
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
