package eventstream

import (
	"context"
	"errors"
	"time"

	"github.com/livegraph/livegraph/api/request"
)

const (
	// recheckInterval is how often a stream checks whether its key still permits it.
	recheckInterval = 250 * time.Millisecond
	// cutGrace is how long a stream may take to end after its context is done, before it is
	// cut.
	cutGrace = 250 * time.Millisecond
)

// ErrDraining is the cause of streams that end because the server shuts down.
var ErrDraining = errors.New("the server goes away")

// Guard monitors the stream until stop is called; stop waits for the end of the monitoring.
// The returned context is cancelled, with the cause, when the key no longer permits the stream
// or the server shuts down. If the stream then hangs in a Flush, because its reader does not
// read, it is cut.
func (s *Writer) Guard(ctx context.Context, session request.Session) (guarded context.Context, stop func()) {
	guarded, cancel := context.WithCancelCause(ctx)
	stopping, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if cause := watch(guarded, session); cause != nil {
			cancel(cause)
		}
		select {
		case <-stopping:
		case <-time.After(cutGrace):
			s.Cut()
			<-stopping
		}
	}()
	return guarded, func() {
		cancel(context.Canceled)
		close(stopping)
		<-done
	}
}

// watch returns why the stream must end; nil when it has ended.
func watch(ctx context.Context, session request.Session) error {
	check := time.NewTicker(recheckInterval)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-session.Draining:
			return ErrDraining
		case <-check.C:
			if err := session.Recheck(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}
