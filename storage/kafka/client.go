// Package kafka implements Livegraph's log with franz-go.
//
// A [Client] creates the topics, produces points, commands, events and dead letters, and joins
// consumer groups. It monitors the brokers, so that a produce fails at once while they are
// unavailable (see [Client.Healthy]), the topics, so that new partitions and recreated topics are
// detected, and how close the built-in consumers are to losing records to retention (see
// [Client.LogFill]).
//
// The package does not rely on idempotent producers or transactions: the embedded broker loses
// sequence numbers in a crash. A record may therefore be in the log twice, and consumers must be
// idempotent by identity, time and version.
//
// The package handles records and offsets. Their content is defined by schemas/pointblock and the
// consumers.
package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"

	"github.com/livegraph/livegraph/internal/platform/tracing"
	"github.com/livegraph/livegraph/storage/kafka/franzlog"
	"github.com/livegraph/livegraph/storage/kafka/secure"
)

// Limits and timeouts of the client.
const (
	maxBufferedRecords = 100_000                // records waiting for their acknowledgement
	minRetryBackoff    = 50 * time.Millisecond  // before the first retry
	maxRetryBackoff    = 500 * time.Millisecond // maximum before later retries
	dialTimeout        = 3 * time.Second
	produceRequestWait = 3 * time.Second // broker timeout of one produce request
	requestOverhead    = 2 * time.Second // added to it for the network
	defaultProduceWait = 5 * time.Second
	adminTimeout       = 5 * time.Second // one administrative request with its retries
)

// Options configures a Client.
type Options struct {
	Brokers     []string // host:port
	TopicPrefix string   // prepended to each topic's name
	Compression string   // of records: none, lz4, zstd or snappy
	// BufferedBytes is the maximum number of bytes of records waiting for acknowledgement.
	// Beyond it, ProducePoints fails at once.
	BufferedBytes int
	// SessionTimeout is how long a member of a consumer group may send no heartbeat before its
	// partitions are reassigned; 0: 10 s.
	SessionTimeout time.Duration
	// ProduceTimeout is how long ProducePoints waits at most; 0: 5 s.
	ProduceTimeout time.Duration
	// PointsGroup, CommandsGroup and AuditGroup are the consumer groups of points, of
	// graph.commands and of audit, whose lag is monitored; empty: not monitored.
	PointsGroup, CommandsGroup, AuditGroup string
	// EventsGroups are the consumer groups of graph.events, which [Client.Overviews] includes.
	// Their lag never causes produces to be refused.
	EventsGroups []string
	// LogFullThreshold is the share of a topic's retention from which on the lag of its group
	// causes produces to be refused; 0: never.
	LogFullThreshold float64
	// OnTopicChange is called before a new state of topic points (first observed, more
	// partitions, recreated) takes effect for ProducePoints. It is called repeatedly until it
	// returns nil; the old state remains in effect until then.
	OnTopicChange func(context.Context, TopicInfo) error
	// OnCommandsChange is the same for topic graph.commands and ProduceCommand.
	OnCommandsChange func(context.Context, TopicInfo) error
	// BatchesInMemory is whether the broker keeps its batches in memory, see
	// config.KafkaCapabilities. If so, the number of records of each topic is limited.
	BatchesInMemory bool
	// Security configures TLS and SASL for every connection.
	Security secure.Config
	// Dial replaces the dialer below TLS, for fault proxies. Nil: TCP.
	Dial func(ctx context.Context, network, host string) (net.Conn, error)
	Log  *slog.Logger // nil: slog.Default()
	// Tracing records a span for each produce and adds the trace context to the records'
	// headers. Nil: no spans.
	Tracing trace.TracerProvider
	// Metrics registers the client's metrics; nil: they are not registered.
	Metrics prometheus.Registerer

	// StallLimit is how long a reader waits while the log has records for it, until its client is
	// replaced; 0: 20 s.
	StallLimit time.Duration

	linger           time.Duration // see BenchmarkProducePoints
	maxPointsRecords int64         // overrides MaxPointsRecords in tests
}

// Client is a connection to the log. It is safe for concurrent use.
type Client struct {
	opts     Options
	log      *slog.Logger
	tracer   tracing.Tracer
	admin    *kadm.Client // separate client, so that pings never queue behind records
	adminKgo *kgo.Client

	health   health
	topics   []*topic // each with its own producer, so that commands never queue behind points
	points   *topic
	commands *topic
	events   *topic
	audit    *topic
	// compressor compresses the batches that franz-go's producers do not send; nil: no compression.
	compressor kgo.Compressor

	metrics *metrics

	groups sync.Map // set of *Group; their metadata is refreshed when a topic changes

	stop      context.CancelFunc
	tasks     sync.WaitGroup
	watchOnce sync.Once
	closed    atomic.Bool
	ctx       context.Context //nolint:containedctx // of the monitoring goroutines: Close cancels it
}

// Open creates a client and starts monitoring the brokers. They need not be available yet:
// EnsureTopics waits for them.
func Open(_ context.Context, opts Options) (*Client, error) {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	if opts.ProduceTimeout <= 0 {
		opts.ProduceTimeout = defaultProduceWait
	}
	if opts.StallLimit <= 0 {
		opts.StallLimit = defaultStallLimit
	}
	if opts.SessionTimeout <= 0 {
		opts.SessionTimeout = defaultSession
	}
	codec, err := compression(opts.Compression)
	if err != nil {
		return nil, err
	}
	watcher, err := kgo.NewClient(opts.common("livegraph-watch", pingDialTimeout)...)
	if err != nil {
		return nil, fmt.Errorf("opening the watcher: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Client{
		opts: opts, log: opts.Log.With("component", "kafka"), tracer: tracing.New(opts.Tracing, "storage/kafka"),
		adminKgo: watcher, admin: kadm.NewClient(watcher), topics: opts.newTopics(), ctx: ctx, stop: stop,
	}
	c.points, c.commands, c.events, c.audit = c.topics[0], c.topics[1], c.topics[2], c.topics[3]
	if c.compressor, err = kgo.DefaultCompressor(codec); err != nil {
		c.Close()
		return nil, fmt.Errorf("creating the compressor: %w", err)
	}
	for _, t := range c.topics {
		if t.producer, err = kgo.NewClient(c.producerOptions(t, codec)...); err != nil {
			c.Close()
			return nil, fmt.Errorf("opening the producer of %s: %w", t.name, err)
		}
	}
	c.admin.SetTimeoutMillis(int32(adminTimeout.Milliseconds()))
	c.health.init()
	c.metrics = newMetrics(c, opts.Metrics)
	c.tasks.Go(c.watchBrokers)
	return c, nil
}

// producerOptions returns the options of a topic's producer.
func (c *Client) producerOptions(t *topic, codec kgo.CompressionCodec) []kgo.Opt {
	return append(c.opts.common("livegraph-producer-"+t.label, dialTimeout),
		kgo.WithHooks(&t.fill.uncommitted),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytesFn(c.batchMaxBytes),
		kgo.MaxBufferedBytes(int(t.maxBufferedBytes)),
		kgo.MaxBufferedRecords(maxBufferedRecords),
		// No linger by default: at low load a record is sent at once, at high load records
		// accumulate while requests are in flight.
		kgo.ProducerLinger(c.opts.linger),
		kgo.ProduceRequestTimeout(produceRequestWait),
		kgo.RecordDeliveryTimeout(c.opts.ProduceTimeout),
		// Delivery of a record may be cancelled while its request is unanswered. The record
		// may still be in the log; consumers tolerate this.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.UnknownTopicRetries(-1), // ended by the delivery timeout instead
	)
}

// common returns the options that all franz-go clients share.
func (o *Options) common(id string, dial time.Duration) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ClientID(id),
		kgo.SeedBrokers(o.Brokers...),
		kgo.RetryBackoffFn(backoff),
		kgo.RequestTimeoutOverhead(requestOverhead),
		kgo.RetryTimeout(adminTimeout),
		kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.MetadataMaxAge(30 * time.Second),
		kgo.AlwaysRetryEOF(),
		kgo.DisableClientMetrics(),
		kgo.WithLogger(franzlog.New(o.Log.With("component", id))),
	}
	return append(opts, o.Security.Opts(o.Dial, dial)...)
}

// backoff returns the delay before a retry of franz-go, which numbers its attempts: package retry would
// need a Backoff for each request.
func backoff(tries int) time.Duration {
	d := minRetryBackoff << min(tries, 10)
	return min(d, maxRetryBackoff)/2 + rand.N(min(d, maxRetryBackoff)/2) //nolint:gosec // G404: jitter
}

func compression(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "", "none":
		return kgo.NoCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	}
	return kgo.CompressionCodec{}, fmt.Errorf("kafka: unknown compression %q", name)
}

// Close stops monitoring, cancels the delivery of unacknowledged records, and closes the
// connections.
func (c *Client) Close() {
	if c.closed.Swap(true) {
		return
	}
	c.stop()
	for _, t := range c.topics {
		if t.producer != nil {
			t.producer.Close()
		}
	}
	c.tasks.Wait()
	c.adminKgo.Close()
}
