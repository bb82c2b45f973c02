package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/telemetry"
)

func TestEveryRecordHasTheAttributesOfTheContext(t *testing.T) {
	type key struct{}
	var out bytes.Buffer
	log := telemetry.NewLogger(config.Log{Level: "info", Format: "auto"}, &out, func(ctx context.Context) []slog.Attr {
		if id, ok := ctx.Value(key{}).(string); ok {
			return []slog.Attr{slog.String("requestId", id)}
		}
		return nil
	})
	log.With("part", "test").InfoContext(context.WithValue(t.Context(), key{}, "req_1"), "hello\nforged=line")
	log.Debug("not shown")

	var record map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &record), "one JSON line: no record can forge another")
	require.Equal(t, "req_1", record["requestId"])
	require.Equal(t, "test", record["part"])
}

func TestADurationHasItsUnit(t *testing.T) {
	for format, want := range map[string]string{"json": `"durationMs":1234.567`, "text": "duration=1.234567s"} {
		var out bytes.Buffer
		log := telemetry.NewLogger(config.Log{Level: "info", Format: format}, &out, func(context.Context) []slog.Attr {
			return nil
		})
		log.Info("done", "duration", 1234567*time.Microsecond)
		require.Contains(t, out.String(), want)
	}
}
