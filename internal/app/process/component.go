package process

import (
	"context"
	"errors"
	"runtime/pprof"

	"golang.org/x/sync/errgroup"
)

// Component is a part of a process. Run works until ctx is done, and then returns when
// it has put away what it holds. An error ends the process; nil does not: a component may
// have nothing more to do.
type Component struct {
	Name string
	Run  func(ctx context.Context) error
}

// run runs the component. Its name is a label of its goroutines in profiles.
func (c Component) run(ctx context.Context) (err error) {
	pprof.Do(ctx, pprof.Labels("component", c.Name), func(ctx context.Context) { err = c.Run(ctx) })
	return err
}

// runComponents runs the server and the components beside it until ctx is done, and then
// ends them in the order of the data: first the server, which accepts no more requests and
// answers those in flight, then the components, which store what they hold. An error of one
// ends all the others in the same order, and is returned.
func runComponents(ctx context.Context, server Component, beside []Component) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, groupCtx := errgroup.WithContext(background)
	for _, c := range beside {
		group.Go(func() error { return c.run(groupCtx) })
	}
	group.Go(func() error {
		defer stop()
		serving, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(groupCtx, cancel)()
		return server.run(serving)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
