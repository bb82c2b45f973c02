// Package scale simulates an installation on several hosts: a network namespace for each, connected by
// a bridge, with a broker of Apache Kafka and a process of each role. The load and the checks are those
// of package chaos.
//
// The engines that have one copy here (Postgres, ClickHouse, Redis, Milvus) run on this machine, which
// is a further host that never fails. The load comes from this machine, too.
package scale

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/load"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/engines/apachekafka"
)

const (
	hosts          = 3
	workspaces     = 3
	brokerPort     = "9092"
	controllerPort = "9093"
	// pathSources is the number of sources that are written to check an installation: as many as partitions.
	pathSources = 8
	stopTimeout = time.Minute
	// joinTimeout bounds the time until a broker has caught up with the others.
	joinTimeout = 5 * time.Minute
)

// options configure a cluster.
type options struct {
	Dir    string
	Builds []build // see build.go
	Seed   uint64
	Load   float64 // factor of load.DefaultRate
	Log    *slog.Logger
}

// cluster is a running simulation. Stop ends it.
type cluster struct {
	options options
	network *network
	env     *environment.Environment
	stores  *environment.Stores
	hosts   []*host
	load    run.Load
	paths   *run.Paths

	upgrades int // number of rolling upgrades

	mu       sync.Mutex
	failures []run.Violation // of scenarios
}

// host is a host with its broker and its processes.
type host struct {
	name      string
	number    int // from 0
	broker    *environment.Process
	processes []*environment.Role
}

// start starts a cluster and the load's workspaces. If a part fails to start, it stops the others.
func start(ctx context.Context, o options) (c *cluster, err error) {
	c = &cluster{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if c.network, err = newNetwork(ctx, hosts); err != nil {
		return c, fmt.Errorf("creating the network: %w", err)
	}
	if err = c.startBrokers(ctx); err != nil {
		return c, fmt.Errorf("starting the brokers: %w", err)
	}
	if err = c.startProcesses(ctx); err != nil {
		return c, fmt.Errorf("starting the processes: %w", err)
	}
	if c.stores, err = c.env.Connect(ctx); err != nil {
		return c, err
	}
	c.load, err = run.NewLoad(ctx, c.env, c.stores, load.Config{
		Seed: o.Seed, Workspaces: workspaces, Rate: load.DefaultRate().Share(o.Load), Failover: true, Log: o.Log,
	})
	if err != nil {
		return c, fmt.Errorf("preparing the load: %w", err)
	}
	c.paths, err = run.NewPaths(ctx, c.env.APIs(), c.env.First, pathSources)
	return c, err
}

// startBrokers starts a broker on each host, together, because none is ready before most of them are.
func (c *cluster) startBrokers(ctx context.Context) error {
	installed, err := apachekafka.Install(ctx, nil)
	if err != nil {
		return err
	}
	logs := filepath.Join(c.options.Dir, "brokers")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return err
	}
	var controllers []string
	for i := range hosts {
		controllers = append(controllers, net.JoinHostPort(c.network.Address(i), controllerPort))
	}
	id := uuid.New()
	var group errgroup.Group
	for i := range hosts {
		h := &host{name: "host-" + strconv.Itoa(i+1), number: i}
		c.hosts = append(c.hosts, h)
		broker := &apachekafka.Remote{
			Jars: installed, Dir: filepath.Join(logs, h.name), Cluster: id, ID: i + 1, Controllers: controllers,
			Address:    c.brokerAddress(i),
			Properties: map[string]string{"min.insync.replicas": "2"}, // also of the consumers' offsets
		}
		h.broker = environment.NewProcess(h.name+"-kafka", filepath.Join(logs, h.name+".log"), func() *exec.Cmd {
			return c.network.Wrap(i, broker.Command())
		}, func(ctx context.Context) error { return apachekafka.Probe(ctx, broker.Address) })
		group.Go(func() error {
			if err := os.MkdirAll(broker.Dir, 0o700); err != nil {
				return err
			}
			if err := broker.Prepare(); err != nil {
				return err
			}
			h.broker.Start()
			return h.broker.WaitReady(ctx)
		})
	}
	return group.Wait()
}

func (c *cluster) brokerAddress(i int) string {
	return net.JoinHostPort(c.network.Address(i), brokerPort)
}

// startProcesses starts the engines, and the processes of all hosts.
func (c *cluster) startProcesses(ctx context.Context) (err error) {
	o := environment.Options{
		Dir: c.options.Dir, Binary: c.build().path, Seed: c.options.Seed, Log: c.options.Log,
		Address: c.network.Gateway(), Kafka: environment.Apache,
	}
	for i, h := range c.hosts {
		o.Brokers = append(o.Brokers, c.brokerAddress(i))
		o.Hosts = append(o.Hosts, environment.Host{
			Name: h.name, Address: c.network.Address(i),
			Wrap: func(cmd *exec.Cmd) *exec.Cmd { return c.network.Wrap(i, cmd) },
		})
	}
	if c.env, err = environment.Start(ctx, o); err != nil {
		return err
	}
	for _, h := range c.hosts {
		h.processes = c.env.OnHost(h.name)
	}
	return nil
}

// Stop stops all processes, and removes the network.
func (c *cluster) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	var errs []error
	if c.stores != nil {
		errs = append(errs, c.stores.Close())
	}
	if c.env != nil {
		errs = append(errs, c.env.Stop(ctx))
	}
	var work sync.WaitGroup
	for _, h := range c.hosts {
		h.broker.Kill() // one that leaves in order waits for the others
		work.Go(h.broker.Stop)
	}
	work.Wait()
	if c.network != nil {
		errs = append(errs, c.network.Close())
	}
	return errors.Join(errs...)
}

// all returns the processes of a host, with its broker.
func (h *host) all() []*environment.Process {
	list := []*environment.Process{h.broker}
	for _, r := range h.processes {
		list = append(list, r.Process)
	}
	return list
}

// each calls do for processes concurrently.
func each(processes []*environment.Process, do func(*environment.Process) error) error {
	var group errgroup.Group
	for _, p := range processes {
		group.Go(func() error { return do(p) })
	}
	return group.Wait()
}

// hold keeps the processes of a host from being started until release is called.
func (h *host) hold() (release func()) {
	var all []func()
	for _, p := range h.all() {
		all = append(all, p.Hold())
	}
	return func() {
		for _, one := range all {
			one()
		}
	}
}

// waitReady waits until the processes of a host are ready or ctx ends: on a busy machine that takes longer
// than a process usually gets.
func (h *host) waitReady(ctx context.Context) error {
	return each(h.all(), func(p *environment.Process) error {
		for {
			if err := p.WaitReady(ctx); err == nil || ctx.Err() != nil {
				return err
			}
		}
	})
}

// others returns the API processes of the other hosts.
func (c *cluster) others(h *host) (apis []string) {
	for _, r := range c.env.Roles("api") {
		if r.Host != h.name {
			apis = append(apis, "http://"+r.Listen)
		}
	}
	return apis
}

// awaitInSync waits until each partition has an in-sync replica on each host.
func (c *cluster) awaitInSync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	for {
		missing, err := c.missingReplica(ctx)
		if err == nil && missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("not in sync: %s", missing), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// missingReplica returns a partition that lacks in-sync replicas, as text; "": none. It asks each broker,
// because one that was isolated does not know yet that the others went on without it.
func (c *cluster) missingReplica(ctx context.Context) (string, error) {
	for _, broker := range c.env.Brokers() {
		missing, err := missingReplicaOf(ctx, broker)
		if err != nil || missing != "" {
			return missing, err
		}
	}
	return "", nil
}

func missingReplicaOf(ctx context.Context, broker string) (string, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DisableClientMetrics())
	if err != nil {
		return "", err
	}
	defer client.Close()
	meta, err := kadm.NewClient(client).Metadata(ctx)
	if err != nil {
		return "", err
	}
	for _, topic := range meta.Topics {
		for _, p := range topic.Partitions {
			if len(p.ISR) < hosts {
				return fmt.Sprintf("partition %d of %s: %d of %d", p.Partition, topic.Topic, p.ISR, p.Replicas), nil
			}
		}
	}
	return "", nil
}

// fail records that a scenario failed.
func (c *cluster) fail(what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, run.Violation{What: what, Evidence: err.Error()})
}

// The cluster is the run.Load of the rounds: its failures are violations, too.

// Run sends requests until ctx ends.
func (c *cluster) Run(ctx context.Context) { c.load.Run(ctx) }

// Settle waits until all requests have had their effect, so no consumer lags.
func (c *cluster) Settle(ctx context.Context) error { return c.load.Settle(ctx) }

// Check returns the violated invariants, and the failures of scenarios.
func (c *cluster) Check(ctx context.Context) []run.Violation {
	found := c.load.Check(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	found = append(found, c.failures...)
	c.failures = nil
	return found
}
