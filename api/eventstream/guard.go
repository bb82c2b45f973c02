package eventstream

import (
	"context"
	"errors"
	"time"

	"github.com/livegraph/livegraph/api/request"
)

const (
	// recheckInterval is how often a stream asks whether its key still opens it.
	recheckInterval = 250 * time.Millisecond
	// cutGrace is what a stream has to end by itself.
	cutGrace = 250 * time.Millisecond
)

// ErrDraining says that the server goes away.
var ErrDraining = errors.New("the server goes away")

// Guard watches over the stream until stop is called, which waits for the watching to
// end. The context that it gives is done, with the cause, when the key may not have
// the stream any more or the server goes away; a stream that then hangs in a Flush,
// because its reader does not read, is cut.
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
