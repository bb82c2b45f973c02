// Package mqtt subscribes to MQTT brokers and sends their messages to the API as points. A message is acknowledged to
// its broker when its points are in the log, so that a message of QoS 1 or 2 is delivered again after a crash.
//
// Each broker has a connection, which queues the messages that arrive, and a sender, which collects messages into
// batches, sends a batch as one request until the server has answered it, and acknowledges its messages in their order.
package mqtt

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/mqtt/mapping"
	"github.com/livegraph/livegraph/internal/app/mqtt/sparkplug"
)

const (
	// DefaultFlush is the usual time in which messages are collected into a request.
	DefaultFlush = 250 * time.Millisecond
	// stopGrace bounds the time in which messages that have arrived are still sent at the end.
	stopGrace = 5 * time.Second
	// disconnectTimeout bounds the end of a connection, which sends the last acknowledgements.
	disconnectTimeout = 2 * time.Second
)

// Deps are the dependencies of a bridge.
type Deps struct {
	// Ingest sends points in line protocol and returns when they are in the log. It retries what may succeed later until
	// its context ends.
	Ingest  func(ctx context.Context, lines []byte) (client.Receipt, error)
	Flush   time.Duration // time in which messages are collected into a request; 0: DefaultFlush
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Run connects to all brokers and sends their messages until ctx ends. It connects again after errors.
func Run(ctx context.Context, c *Config, d Deps) error {
	if d.Flush <= 0 {
		d.Flush = DefaultFlush
	}
	m := newMetrics(d.Metrics)
	group, ctx := errgroup.WithContext(ctx)
	for _, b := range c.Brokers {
		m.init(b.Name)
		l := &link{
			broker: b, deps: d, metrics: m, logger: d.Logger.With("broker", b.Name),
			queue: make(chan delivery, b.MaxInFlight),
		}
		group.Go(func() error { return l.run(ctx) })
	}
	return group.Wait()
}

// delivery is a message that has arrived.
type delivery struct {
	mapping.Message
	qos  byte
	ack  func()
	done *bool // whether it may be acknowledged
}

// publisher publishes a message of QoS 0.
type publisher func(ctx context.Context, topic string, payload []byte) error

// connection is a connection to a broker, of one version of MQTT.
type connection struct {
	publish publisher
	close   func(ctx context.Context) // sends acknowledgements and disconnects
}

// link is the connection to a broker and its sender.
type link struct {
	broker  *Broker
	deps    Deps
	metrics *metrics
	logger  *slog.Logger
	queue   chan delivery
	stopped chan struct{} // closed when no more messages are queued

	mu      sync.Mutex
	arrived int64 // time of the last message in µs
	losses  int64 // how often births may have been lost
	notes   notes
}

// run runs the link until ctx ends. Messages that have been queued by then are still sent.
func (l *link) run(ctx context.Context) error {
	l.stopped = make(chan struct{})
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	connect := connect5
	if l.broker.Version == version31 {
		connect = connect31
	}
	c, err := connect(sending, l)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&sender{link: l, publish: c.publish}).run(sending)
	}()
	<-ctx.Done()
	close(l.stopped)
	select {
	case <-done:
	case <-time.After(stopGrace):
		l.logger.Warn("stopped before all messages were sent; the broker delivers them again")
	}
	closing, cancelClosing := context.WithTimeout(sending, disconnectTimeout)
	defer cancelClosing()
	c.close(closing)
	cancel()
	<-done
	return nil
}

// receive queues a message. It blocks while the queue is full, so that the connection stops to read; a message of QoS 0
// is dropped instead.
func (l *link) receive(topic string, payload []byte, qos byte, kept bool, ack func()) {
	arrivedUS, losses := l.now()
	d := delivery{qos: qos, ack: ack, done: new(bool), Message: mapping.Message{
		Topic: topic, Payload: payload, Retained: kept, ArrivedUS: arrivedUS, Losses: losses,
	}}
	waiting := l.metrics.waiting.WithLabelValues(l.broker.Name)
	waiting.Inc()
	select {
	case l.queue <- d:
		return
	case <-l.stopped:
		waiting.Dec()
		return
	default:
	}
	if qos == 0 {
		waiting.Dec()
		l.count(dropped)
		if sparkplug.ChangesBirths(topic) {
			l.lose()
		}
		l.note(topic, "more messages arrive than the server accepts: messages of QoS 0 are dropped")
		return
	}
	select {
	case l.queue <- d:
	case <-l.stopped:
		waiting.Dec()
	}
}

// now returns the time in µs since the epoch, later than the last one, because two points of a series at the same time
// would be one, and how often births may have been lost.
func (l *link) now() (us, losses int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrived = max(l.arrived+1, time.Now().UnixMicro())
	return l.arrived, l.losses
}

// lose notes that messages, among them births, may be lost before those that arrive from now on.
func (l *link) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.losses++
}

func (l *link) count(outcome string) {
	l.metrics.messages.WithLabelValues(l.broker.Name, outcome).Inc()
}

// setConnected logs a change of the connection's state.
func (l *link) setConnected(connected bool, err error) {
	gauge := l.metrics.connected.WithLabelValues(l.broker.Name)
	if connected {
		gauge.Set(1)
		l.logger.Info("connected to the MQTT broker and subscribed", "topics", len(l.broker.subscriptions()))
		return
	}
	gauge.Set(0)
	l.lose() // brokers keep no messages of QoS 0 for clients that are not connected
	if err != nil {
		l.note("", "the connection to the MQTT broker failed; it is tried again: "+err.Error())
	}
}

// note logs why a message was not stored, or a connection failed: the first of each reason in an interval, and how
// many there were.
func (l *link) note(topic, reason string) {
	l.mu.Lock()
	since, log := l.notes.add(reason, time.Now())
	l.mu.Unlock()
	if !log {
		return
	}
	logger := l.logger
	if topic != "" {
		logger = logger.With("topic", topic)
	}
	if since > 0 {
		logger = logger.With("notLogged", since)
	}
	logger.Warn(reason)
}
