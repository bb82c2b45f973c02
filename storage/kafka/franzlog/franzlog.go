// Package franzlog writes the log messages of franz-go to a slog.Logger.
package franzlog

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Logger is a kgo.Logger. franz-go logs every connection and rebalance at info level, so these messages are logged at
// debug level.
type Logger struct{ log *slog.Logger }

// New returns a Logger that writes to log.
func New(log *slog.Logger) Logger { return Logger{log} }

// Level implements kgo.Logger.
func (l Logger) Level() kgo.LogLevel {
	switch {
	case l.log.Enabled(context.Background(), slog.LevelDebug):
		return kgo.LogLevelInfo
	default:
		return kgo.LogLevelWarn
	}
}

// Log implements kgo.Logger.
func (l Logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	slogLevel := slog.LevelDebug
	switch level {
	case kgo.LogLevelError:
		slogLevel = slog.LevelWarn // franz-go retries after most of its errors
	case kgo.LogLevelWarn:
		slogLevel = slog.LevelInfo
	}
	l.log.Log(context.Background(), slogLevel, "franz-go: "+msg, keyvals...)
}
