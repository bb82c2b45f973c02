package outage_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/outage"
)

func TestOnlyTheFirstFailureAndTheFirstSuccessAfterItAreLogged(t *testing.T) {
	var written bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&written, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	log := outage.Log{Failed: "the store cannot be read", Recovered: "the store is read again"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, step := range []struct {
		ended bool
		err   error
	}{
		{false, nil}, {true, errors.New("stopped")}, {false, errors.New("first")}, {false, errors.New("second")},
		{true, nil}, {false, nil}, {false, nil},
	} {
		ctx := t.Context()
		if step.ended {
			ctx = ended
		}
		log.Note(ctx, logger, step.err, "work", "pruning")
	}
	require.Equal(t, []string{
		`level=WARN msg="the store cannot be read" error=first work=pruning`,
		`level=INFO msg="the store is read again" work=pruning`,
	}, strings.Split(strings.TrimSpace(written.String()), "\n"))
}
