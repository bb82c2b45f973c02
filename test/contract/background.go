package contract

import (
	"context"
	"testing"
)

// background runs work until the test ends, and waits for it.
func background(t testing.TB, work func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("in the background: %v", err)
		}
	})
}
