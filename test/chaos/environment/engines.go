package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/test/chaos/proxy"
	"github.com/livegraph/livegraph/test/engines/apachekafka"
)

// postgresSettings returns the settings that override those of the embedded edition. In these tests only
// processes crash, not the machine, so the kernel keeps what Postgres has written. There are few
// connections, so that a fault can use them up, but enough for all processes.
func (env *Environment) postgresSettings() map[string]string {
	connections := max(80, 40+maxConns*len(env.options.Hosts)*len(HostRoles))
	return map[string]string{
		"fsync": "off", "max_connections": strconv.Itoa(connections), "shared_buffers": "64MB",
	}
}

// maxConns is the number of connections to Postgres of each process.
const maxConns = 8

// clickhouseMemory is low enough that a fault can use it up, in bytes.
const clickhouseMemory = 1 << 30

// starter starts an engine in a directory, for clients that connect to the proxy.
type starter func(ctx context.Context, o engine.Options, link *proxy.Proxy) (*Engine, error)

// starters returns the starters of the configured engines, by name.
func (env *Environment) starters() map[string]starter {
	child := func(name string, start func(context.Context, engine.Options) (*supervisor.Process, error)) starter {
		return func(ctx context.Context, o engine.Options, link *proxy.Proxy) (*Engine, error) {
			p, err := start(ctx, o)
			if err != nil {
				return nil, err
			}
			return newEngine(name, link, p.Address(), p, p.Stop), nil
		}
	}
	all := map[string]starter{
		ClickHouse: child(ClickHouse, func(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
			return embedded.StartClickHouseShards(ctx, o, embedded.Shards{Count: env.options.Shards})
		}),
		Redis:  child(Redis, embedded.StartValkey),
		Milvus: child(Milvus, embedded.StartMilvus),
		Postgres: child(Postgres, func(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
			return embedded.StartPostgres(ctx, embedded.PostgresOptions{Options: o, Settings: env.postgresSettings()})
		}),
		Kafka: env.startBroker,
	}
	switch {
	case len(env.options.Brokers) > 0:
		delete(all, Kafka)
	case env.options.Kafka == Apache:
		all[Kafka] = env.startApache
	}
	if env.options.Embedder {
		all[Embedder] = child(Embedder, func(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
			return embedded.StartEmbedder(ctx, embedded.EmbedderOptions{
				Options: o, EmbedderSettings: embedded.EmbedderSettings{Threads: 1},
			})
		})
	}
	return all
}

// startEngines starts the engines concurrently, each behind its proxy.
func (env *Environment) startEngines(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for name, start := range env.starters() {
		link, err := env.newProxy()
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			dir := filepath.Join(env.options.Dir, "engines", name)
			disk, err := env.makeDir(dir, name)
			if err != nil {
				return err
			}
			started, err := start(
				ctx, engine.Options{Dir: dir, LogDir: env.logs(), Logger: env.options.Log, Memory: clickhouseMemory}, link,
			)
			if err != nil {
				return fmt.Errorf("starting %s: %w", name, err)
			}
			started.Dir, started.Disk = dir, disk
			env.add(started)
			return nil
		})
	}
	return group.Wait()
}

// newProxy opens a proxy without a target.
func (env *Environment) newProxy() (*proxy.Proxy, error) {
	address := net.JoinHostPort(cmp.Or(env.options.Address, "127.0.0.1"), "0")
	link, err := proxy.Listen(address, "", env.options.Seed)
	if err != nil {
		return nil, err
	}
	env.mu.Lock()
	defer env.mu.Unlock()
	env.proxies = append(env.proxies, link)
	return link, nil
}

// startBroker starts the embedded Kafka in a separate process.
func (env *Environment) startBroker(ctx context.Context, o engine.Options, link *proxy.Proxy) (*Engine, error) {
	cfg := brokerConfig{Dir: o.Dir, Advertised: link.Address(), Address: filepath.Join(o.Dir, "address")}
	p, err := newBroker(o.Dir, filepath.Join(o.LogDir, "kafka.log"), cfg)
	if err != nil {
		return nil, err
	}
	p.Start()
	stop := func(context.Context) error { p.Stop(); return nil }
	if err := p.WaitReady(ctx); err != nil {
		return nil, errors.Join(err, stop(ctx))
	}
	at, err := readBrokerInfo(cfg.Address)
	if err != nil {
		return nil, errors.Join(err, stop(ctx))
	}
	env.broker, env.login = p, at.Login
	return newEngine(Kafka, link, at.Address, p, stop), nil
}

// startApache starts two brokers of Apache Kafka, each with a replica of every partition. Clients
// and the other broker connect to them through proxies.
func (env *Environment) startApache(ctx context.Context, o engine.Options, link *proxy.Proxy) (*Engine, error) {
	cluster := uuid.New()
	start := func(
		name string, o engine.Options, link *proxy.Proxy, joins *apachekafka.Cluster,
	) (*Engine, *apachekafka.Broker, error) {
		p, err := apachekafka.Start(ctx, apachekafka.Options{
			Options: o, ClusterID: cluster, Joins: joins, Properties: map[string]string{
				"advertised.listeners":       "PLAINTEXT://" + link.Address(),
				"default.replication.factor": "2", "offsets.topic.replication.factor": "2",
			},
		})
		if err != nil {
			return nil, nil, err
		}
		return newEngine(name, link, p.Address(), p, p.Stop), p, nil
	}
	first, controller, err := start(Kafka, o, link, nil)
	if err != nil {
		return nil, err
	}
	secondLink, err := env.newProxy()
	if err != nil {
		return nil, errors.Join(err, controller.Stop(ctx))
	}
	dir := filepath.Join(env.options.Dir, "engines", Kafka2)
	disk, err := env.makeDir(dir, Kafka2)
	if err != nil {
		return nil, errors.Join(err, controller.Stop(ctx))
	}
	second, _, err := start(Kafka2, engine.Options{Dir: dir, Logger: o.Logger}, secondLink,
		&apachekafka.Cluster{Controller: controller.Controller(), Node: 2})
	if err != nil {
		return nil, errors.Join(err, controller.Stop(ctx))
	}
	second.Dir, second.Disk = dir, disk
	env.add(second)
	return first, nil
}
