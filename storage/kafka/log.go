package kafka

import (
	"context"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// franzLog writes franz-go's log messages to a slog.Logger. franz-go logs every connection and
// rebalance at info level, so these messages are logged at debug level.
type franzLog struct{ log *slog.Logger }

func (l franzLog) Level() kgo.LogLevel {
	switch {
	case l.log.Enabled(context.Background(), slog.LevelDebug):
		return kgo.LogLevelInfo
	default:
		return kgo.LogLevelWarn
	}
}

func (l franzLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	slogLevel := slog.LevelDebug
	switch level {
	case kgo.LogLevelError:
		slogLevel = slog.LevelWarn // franz-go retries after most of its errors
	case kgo.LogLevelWarn:
		slogLevel = slog.LevelInfo
	}
	l.log.Log(context.Background(), slogLevel, "franz-go: "+msg, keyvals...)
}
