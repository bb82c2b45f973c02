package testenv

import (
	"context"
	"sync"
	"testing"
	"time"
)

const stopTimeout = 2 * time.Minute

// RunInBackground calls work in a goroutine and cancels it when stop is called or the test ends. The test fails if
// work returns an error or does not return.
func RunInBackground(t testing.TB, work func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	stop = sync.OnceFunc(func() {
		t.Helper()
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("work in the background failed: %v", err)
			}
		case <-time.After(stopTimeout):
			t.Errorf("work in the background does not stop")
		}
	})
	t.Cleanup(stop)
	return stop
}
