// Package outage logs when recurring work begins to fail and when it succeeds again.
package outage

import (
	"context"
	"log/slog"
)

// Log logs the outages of one kind of work. It is not safe for concurrent use. The zero value is ready
// for use.
type Log struct {
	Failed    string // message of the first of consecutive failures
	Recovered string // message of the first success after them
	failing   bool
}

// Note records the result of the work, with attributes of both messages. When ctx is done, it does
// nothing.
func (l *Log) Note(ctx context.Context, logger *slog.Logger, err error, attributes ...any) {
	if ctx.Err() != nil || (err != nil) == l.failing {
		return
	}
	if l.failing = err != nil; l.failing {
		logger.WarnContext(ctx, l.Failed, append([]any{"error", err}, attributes...)...)
		return
	}
	logger.InfoContext(ctx, l.Recovered, attributes...)
}
