package scale

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/faults"
)

const (
	// isolation is longer than the sessions of consumers and brokers, also if the last heartbeat was
	// sent just before.
	isolation = 2 * environment.SessionTimeout
	// serveTimeout bounds the time until the other hosts serve every path again.
	serveTimeout = 5 * time.Minute
	slowTime     = 10 * time.Second
	backTimeout  = 5 * time.Minute
)

// scenario is a fault of one host, or of all in turn.
type scenario struct {
	name string
	long bool // not in the short form
	// run injects the fault, waits, and reverts it.
	run func(ctx context.Context, h *host) error
}

// scenarios returns all scenarios of one host.
func (c *cluster) scenarios() []scenario {
	return []scenario{
		{name: "loss", run: c.lose}, {name: "partition", run: c.cut}, {name: "separation", run: c.separate},
		{name: "suspension", run: c.suspend, long: true}, {name: "slow link", run: c.slow, long: true},
	}
}

// fault returns a scenario as a fault of the runner. Failures become violations.
func (c *cluster) fault(kind string, do func(context.Context) error) faults.Fault {
	return faults.Fault{
		Kind:  kind,
		Lasts: func(*rand.Rand) time.Duration { return 0 },
		Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
			began := time.Now()
			if err := do(ctx); err != nil {
				c.fail("the scenario "+kind+" failed", err)
			}
			c.options.Log.Info("scenario", "kind", kind, "took", time.Since(began).Round(time.Millisecond))
			return nil, nil
		},
	}
}

// upgrade restarts everything on one host after the other, with the other binary. It continues with the
// next host when the broker has caught up and all processes are ready.
func (c *cluster) upgrade(ctx context.Context) error {
	c.upgrades++
	for _, h := range c.hosts {
		if err := c.upgradeHost(ctx, h); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
	}
	return c.requireVersion(ctx)
}

func (c *cluster) upgradeHost(ctx context.Context, h *host) error {
	release := h.hold()
	defer release()
	ctx, cancel := context.WithTimeout(ctx, backTimeout)
	defer cancel()
	terminate := func(p *environment.Process) error { return p.Terminate(ctx) }
	// The consumers hand over their partitions and the API its requests before the broker ends.
	if err := each(h.all()[1:], terminate); err != nil {
		return err
	}
	for _, r := range h.processes {
		r.Binary = c.build().path
	}
	if err := terminate(h.broker); err != nil {
		return err
	}
	release()
	return c.awaitBack(ctx, h)
}

// awaitBack waits until a host takes part in everything again.
func (c *cluster) awaitBack(ctx context.Context, h *host) error {
	ctx, cancel := context.WithTimeout(ctx, backTimeout)
	defer cancel()
	if err := h.waitReady(ctx); err != nil {
		return err
	}
	return c.awaitInSync(ctx)
}

// awaitOthers waits until the other hosts serve every path: points and commands are accepted, read,
// found and audited through each of their API processes, though a third of the brokers and of the
// consumers is missing.
func (c *cluster) awaitOthers(ctx context.Context, h *host) error {
	ctx, cancel := context.WithTimeout(ctx, serveTimeout)
	defer cancel()
	began := time.Now()
	for _, api := range c.others(h) {
		if err := c.paths.Through([]string{api}).Await(ctx); err != nil {
			return fmt.Errorf("%s does not serve without %s: %w", api, h.name, err)
		}
	}
	c.options.Log.Info("the other hosts serve", "without", h.name, "after", time.Since(began).Round(time.Millisecond))
	return nil
}

// isolate calls revert after the isolation, or later when the other hosts serve.
func (c *cluster) isolate(ctx context.Context, h *host, revert func() error) error {
	timer := time.After(isolation)
	err := c.awaitOthers(ctx, h)
	select {
	case <-timer:
	case <-ctx.Done():
	}
	if err = errors.Join(err, revert()); err != nil {
		return err
	}
	return c.awaitBack(ctx, h)
}

// lose kills everything on a host, and starts it after a while.
func (c *cluster) lose(ctx context.Context, h *host) error {
	release := h.hold()
	defer release()
	_ = each(h.all(), func(p *environment.Process) error { p.Kill(); return nil })
	return c.isolate(ctx, h, func() error { release(); return nil })
}

// cut disconnects a host from everything. Its processes run.
func (c *cluster) cut(ctx context.Context, h *host) error {
	return c.block(ctx, h, c.network.Cut, c.network.Join)
}

// separate disconnects a host from the other hosts, and so from most brokers, but not from the engines
// with one copy: consumers whose partitions were reassigned can still write.
func (c *cluster) separate(ctx context.Context, h *host) error {
	return c.block(ctx, h, c.network.Separate, c.network.Reunite)
}

func (c *cluster) block(ctx context.Context, h *host, begin, end func(context.Context, int) error) error {
	if err := begin(ctx, h.number); err != nil {
		return err
	}
	return c.isolate(ctx, h, func() error { return end(context.WithoutCancel(ctx), h.number) })
}

// suspend stops everything on a host with SIGSTOP, as when a virtual machine is moved.
func (c *cluster) suspend(ctx context.Context, h *host) error {
	var resume []func()
	for _, p := range h.all() {
		resume = append(resume, p.Pause())
	}
	return c.isolate(ctx, h, func() error {
		for _, one := range resume {
			one()
		}
		return nil
	})
}

// slow makes the link of a host slow and lossy for a while.
func (c *cluster) slow(ctx context.Context, h *host) error {
	how, err := c.network.Slow(ctx, h.number)
	if err != nil {
		return err
	}
	err = c.awaitOthers(ctx, h)
	select {
	case <-time.After(slowTime):
	case <-ctx.Done():
	}
	dropped, countErr := c.network.Dropped(ctx, h.number)
	c.options.Log.Info("the link was slow", "host", h.name, "discipline", how, "dropped", dropped)
	err = errors.Join(err, countErr, c.network.Fast(context.WithoutCancel(ctx), h.number))
	if err != nil {
		return err
	}
	return c.awaitBack(ctx, h)
}
