// Package kafka is Livegraph's log, on franz-go.
//
// A [Client] makes the topics, produces points, commands, events and dead letters,
// joins consumer groups, and keeps watch: over the brokers (so that a produce fails
// at once while they are unavailable, see [Client.Healthy]), over the topics (so that a new
// partition or a recreated topic is noticed), and over the distance between a
// built-in consumer and the end that retention cuts off (see [Client.LogFill]).
//
// Nothing here rests on idempotent producers or transactions: the embedded broker
// forgets sequence numbers in a crash. A record may therefore be in the log
// twice, and anyone who reads it is idempotent by identity, time and version.
//
// The package knows records and offsets. What is inside a record is the concern
// of schemas/pointblock and of the consumers.
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
)

// Limits of the client, named where they are used.
const (
	maxBufferedRecords = 100_000                // records waiting for their acknowledgement
	minRetryBackoff    = 50 * time.Millisecond  // before the first retry inside franz-go
	maxRetryBackoff    = 500 * time.Millisecond // and the most before a later one
	dialTimeout        = 3 * time.Second
	produceRequestWait = 3 * time.Second // how long a broker may take for one produce request
	requestOverhead    = 2 * time.Second // and what the network may add
	defaultProduceWait = 5 * time.Second
	adminTimeout       = 5 * time.Second // one administrative request with its retries
)

// Options say how to reach the log and how much to hold for it.
type Options struct {
	Brokers     []string // host:port
	TopicPrefix string   // put before each topic's name
	Compression string   // of records: none, lz4, zstd or snappy
	// BufferedBytes is the maximum number of bytes of records waiting for acknowledgement;
	// beyond, ProducePoints refuses at once.
	BufferedBytes int
	// SessionTimeout is how long a member of a consumer group may be silent before
	// others get its partitions; 0: 10 s.
	SessionTimeout time.Duration
	// ProduceTimeout is the longest ProducePoints waits; 0: 5 s.
	ProduceTimeout time.Duration
	// PointsGroup, CommandsGroup and AuditGroup are the consumer groups of points, of
	// graph.commands and of audit, whose lag is watched; empty: it is not.
	PointsGroup, CommandsGroup, AuditGroup string
	// EventsGroups are the consumer groups of graph.events, which [Client.Overviews]
	// tells of. Nothing waits for them, so their lag is not watched.
	EventsGroups []string
	// LogFullThreshold is the share of a topic's retention that its group may lag
	// behind; from there on produces are refused; 0: never.
	LogFullThreshold float64
	// OnTopicChange is called before a new state of topic points (first sight,
	// more partitions, recreated) takes effect for ProducePoints. Until it
	// returns nil it is called again and again, and the old state stays.
	OnTopicChange func(context.Context, TopicInfo) error
	// OnCommandsChange is the same for topic graph.commands and ProduceCommand.
	OnCommandsChange func(context.Context, TopicInfo) error
	// BatchesInMemory says that the broker keeps its batches in memory, see
	// config.KafkaCapabilities: the records of topics are bounded.
	BatchesInMemory bool
	// Security is TLS and the login, of every connection.
	Security Security
	// Dial replaces the dialer below TLS, for fault proxies. Nil: TCP.
	Dial func(ctx context.Context, network, host string) (net.Conn, error)
	Log  *slog.Logger // nil: slog.Default()
	// Tracing records what is produced, and carries the trace in the records'
	// headers. Nil: nothing is recorded.
	Tracing trace.TracerProvider
	// Metrics registers what the client measures; nil: nowhere.
	Metrics prometheus.Registerer

	linger     time.Duration // see BenchmarkProducePoints
	pointsKept int64         // instead of the constant, for tests
}

// Client is a connection to the log. It is safe for concurrent use. Close ends it.
type Client struct {
	opts     Options
	log      *slog.Logger
	tracer   tracing.Tracer
	admin    *kadm.Client // on its own client: pings never queue behind records
	adminKgo *kgo.Client

	health   health
	topics   []*topic // of all, each with its own producer: no command queues behind points
	points   *topic
	commands *topic
	events   *topic
	audit    *topic
	// compressor is of what is not sent by franz-go's producers; nil: nothing is compressed.
	compressor kgo.Compressor

	metrics *metrics

	members sync.Map // of *Group: those that a change of the topic concerns

	stop   context.CancelFunc
	tasks  sync.WaitGroup
	watch  sync.Once
	closed atomic.Bool
	ctx    context.Context //nolint:containedctx // of the watching goroutines: it ends with Close
}

// Open makes a client and begins to watch the brokers. It does not need them to
// be there yet: EnsureTopics waits for them.
func Open(_ context.Context, opts Options) (*Client, error) {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	if opts.ProduceTimeout <= 0 {
		opts.ProduceTimeout = defaultProduceWait
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
		return nil, fmt.Errorf("making the compressor: %w", err)
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

// producerOptions returns those of a topic's producer.
func (c *Client) producerOptions(t *topic, codec kgo.CompressionCodec) []kgo.Opt {
	return append(c.opts.common("livegraph-producer-"+t.label, dialTimeout),
		kgo.WithHooks(&t.fill.own),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytesFn(c.batchMaxBytes),
		kgo.MaxBufferedBytes(int(t.buffered)),
		kgo.MaxBufferedRecords(maxBufferedRecords),
		// No linger: at low load a record leaves at once, at high load records
		// gather behind the requests in flight.
		kgo.ProducerLinger(c.opts.linger),
		kgo.ProduceRequestTimeout(produceRequestWait),
		kgo.RecordDeliveryTimeout(c.opts.ProduceTimeout),
		// A record whose request went unanswered may be given up: it may then be
		// in the log after all, which the consumer does not mind.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.UnknownTopicRetries(-1), // ended by the delivery timeout instead
	)
}

// common returns the options that every franz-go client of ours has.
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
		kgo.WithLogger(franzLog{o.Log.With("component", id)}),
	}
	if o.Dial != nil {
		return append(opts, o.Security.over(o.Dial, dial)...)
	}
	return append(opts, o.Security.Opts(dial)...)
}

// backoff is franz-go's wait before a retry: doubled each time, with jitter, so
// that many clients do not come back together.
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
	return kgo.CompressionCodec{}, fmt.Errorf("kafka: no compression is called %q", name)
}

// Close stops the watching, gives up what is still unacknowledged, and closes the
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
