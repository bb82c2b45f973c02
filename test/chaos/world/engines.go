package world

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/test/chaos/proxy"
)

// postgresSettings are over those of the embedded edition. The machine does not crash
// in these tests, only processes do: what Postgres has written the kernel keeps. The
// connections are few enough to be used up.
var postgresSettings = map[string]string{"fsync": "off", "max_connections": "80", "shared_buffers": "64MB"}

// clickhouseMemory is little enough to be used up, in bytes.
const clickhouseMemory = 1 << 30

// starter starts an engine on a directory, for clients at the proxy's address, and
// gives its own address.
type starter func(ctx context.Context, o embedded.EngineOptions, way *proxy.Proxy) (*Engine, error)

// starters are those of the engines that the options ask for.
func (w *World) starters() map[string]starter {
	child := func(name string, start func(context.Context, embedded.EngineOptions) (*embedded.Process, error)) starter {
		return func(ctx context.Context, o embedded.EngineOptions, way *proxy.Proxy) (*Engine, error) {
			p, err := start(ctx, o)
			if err != nil {
				return nil, err
			}
			return newEngine(name, way, p.Address(), p, p.Stop), nil
		}
	}
	all := map[string]starter{
		ClickHouse: child(ClickHouse, embedded.StartClickHouse),
		Redis:      child(Redis, embedded.StartValkey),
		Milvus:     child(Milvus, embedded.StartMilvus),
		Postgres: child(Postgres, func(ctx context.Context, o embedded.EngineOptions) (*embedded.Process, error) {
			return embedded.StartPostgres(ctx, embedded.PostgresOptions{EngineOptions: o, Settings: postgresSettings})
		}),
		Kafka: w.startBroker,
	}
	if w.options.Kafka == Apache {
		all[Kafka] = w.startApache
	}
	if w.options.Embedder {
		all[Embedder] = child(Embedder, func(ctx context.Context, o embedded.EngineOptions) (*embedded.Process, error) {
			return embedded.StartEmbedder(ctx, embedded.EmbedderOptions{
				EngineOptions: o, EmbedderSettings: embedded.EmbedderSettings{Threads: 1},
			})
		})
	}
	return all
}

// startEngines starts the engines at the same time, each behind its proxy.
func (w *World) startEngines(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for name, start := range w.starters() {
		way, err := w.newWay()
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error {
			dir := filepath.Join(w.options.Dir, "engines", name)
			disk, err := w.ownDisk(dir, name)
			if err != nil {
				return err
			}
			engine, err := start(
				ctx, embedded.EngineOptions{Dir: dir, LogDir: w.logs(), Logger: w.options.Log, Memory: clickhouseMemory}, way,
			)
			if err != nil {
				return fmt.Errorf("starting %s: %w", name, err)
			}
			engine.Dir, engine.Disk = dir, disk
			w.add(engine)
			return nil
		})
	}
	return group.Wait()
}

// newWay opens a proxy that leads nowhere yet.
func (w *World) newWay() (*proxy.Proxy, error) {
	way, err := proxy.Listen("127.0.0.1:0", "", w.options.Seed)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ways = append(w.ways, way)
	return way, nil
}

// startBroker starts the embedded Kafka as a its own process.
func (w *World) startBroker(ctx context.Context, o embedded.EngineOptions, way *proxy.Proxy) (*Engine, error) {
	task := brokerTask{Dir: o.Dir, Advertised: way.Address(), Address: filepath.Join(o.Dir, "address")}
	p, err := newBroker(o.Dir, filepath.Join(o.LogDir, "kafka.log"), task)
	if err != nil {
		return nil, err
	}
	p.start()
	stop := func(context.Context) error { p.stop(); return nil }
	if err := p.WaitReady(ctx); err != nil {
		return nil, errors.Join(err, stop(ctx))
	}
	at, err := readBroker(task.Address)
	if err != nil {
		return nil, errors.Join(err, stop(ctx))
	}
	w.broker, w.login = p, at.Login
	return newEngine(Kafka, way, at.Address, p, stop), nil
}

// startApache starts two brokers of Apache Kafka, each with a replica of everything,
// whose listeners clients and the other broker reach through proxies.
func (w *World) startApache(ctx context.Context, o embedded.EngineOptions, way *proxy.Proxy) (*Engine, error) {
	cluster := uuid.New()
	start := func(
		name string, o embedded.EngineOptions, way *proxy.Proxy, joins *embedded.KafkaCluster,
	) (*Engine, *embedded.ApacheKafka, error) {
		p, err := embedded.StartApacheKafka(ctx, embedded.ApacheKafkaOptions{
			EngineOptions: o, ClusterID: cluster, Joins: joins, Properties: map[string]string{
				"advertised.listeners":       "PLAINTEXT://" + way.Address(),
				"default.replication.factor": "2", "offsets.topic.replication.factor": "2",
			},
		})
		if err != nil {
			return nil, nil, err
		}
		return newEngine(name, way, p.Address(), p, p.Stop), p, nil
	}
	first, controller, err := start(Kafka, o, way, nil)
	if err != nil {
		return nil, err
	}
	secondWay, err := w.newWay()
	if err != nil {
		return nil, errors.Join(err, controller.Stop(ctx))
	}
	dir := filepath.Join(w.options.Dir, "engines", Kafka2)
	disk, err := w.ownDisk(dir, Kafka2)
	if err != nil {
		return nil, errors.Join(err, controller.Stop(ctx))
	}
	second, _, err := start(Kafka2, embedded.EngineOptions{Dir: dir, Logger: o.Logger}, secondWay,
		&embedded.KafkaCluster{Controller: controller.Controller(), Node: 2})
	if err != nil {
		return nil, errors.Join(err, controller.Stop(ctx))
	}
	second.Dir, second.Disk = dir, disk
	w.add(second)
	return first, nil
}
