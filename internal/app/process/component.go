package process

import (
	"context"
	"errors"
	"runtime/pprof"

	"golang.org/x/sync/errgroup"
)

// Component is a component of a process. Run runs until ctx is done, stores what is
// buffered and returns. An error ends the process; nil does not, because a component may
// finish its work early.
type Component struct {
	Name string
	Run  func(ctx context.Context) error
}

// run runs the component. The name labels its goroutines in profiles.
func (c Component) run(ctx context.Context) (err error) {
	pprof.Do(ctx, pprof.Labels("component", c.Name), func(ctx context.Context) { err = c.Run(ctx) })
	return err
}

// runComponents runs the server and the other components until ctx is done. It then stops
// the server, which accepts no more requests and answers those in flight, and after it the
// other components, which store their buffers. If one of them returns an error, the rest
// are stopped in the same order and runComponents returns the error.
func runComponents(ctx context.Context, server Component, others []Component) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, groupCtx := errgroup.WithContext(background)
	for _, c := range others {
		group.Go(func() error { return c.run(groupCtx) })
	}
	group.Go(func() error {
		defer stop()
		serverCtx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(groupCtx, cancel)()
		return server.run(serverCtx)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
