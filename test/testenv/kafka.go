package testenv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/kafka"
)

// Editions of Kafka on which tests run.
const (
	KFake  = "kfake"  // the broker inside the process, which is the embedded edition
	Apache = "apache" // Apache Kafka, which is what production runs
)

// Broker is a Kafka of one of the editions, as a test uses it. What a test makes
// there has Prefix before its name: other tests may share the broker.
type Broker struct {
	Edition string
	Prefix  string
	Dir     string // of the data of a broker of the test's own
	server  kafkaServer
	login   config.KafkaSecurity // zero: nobody logs in
}

// kafkaServer is what the editions have in common.
type kafkaServer interface {
	Brokers() []string
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// EachKafka runs a test on an empty Kafka of each edition; on Apache Kafka if everything is
// to be tested (see Full). Apache Kafka is one broker for all tests of the binary, which
// therefore do not run in parallel, with a Prefix for each; a test that stops it starts it
// again. Where it cannot run, its half is reported as missing.
func EachKafka(t *testing.T, test func(t *testing.T, k *Broker)) {
	t.Helper()
	t.Run(KFake, func(t *testing.T) { test(t, NewKFake(t)) })
	if !Full() {
		return
	}
	t.Run(Apache, func(t *testing.T) {
		requireApache(t)
		server, err := apacheKafka()
		if err != nil {
			t.Fatalf("testenv: %v", err)
		}
		k := &Broker{Edition: Apache, Prefix: fmt.Sprintf("test-%d-", serial.Add(1)), server: server}
		k.awaitAnswer(t)
		t.Cleanup(func() { k.awaitAnswer(t) }) // the next test finds it as this one did
		test(t, k)
	})
}

// awaitAnswer waits until the broker answers: it may have crashed just now.
func (b *Broker) awaitAnswer(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	client, err := kgo.NewClient(b.Opts()...)
	require.NoError(t, err)
	defer client.Close()
	for {
		err := client.Ping(ctx)
		if err == nil {
			return
		}
		require.NoError(t, ctx.Err(), "testenv: Apache Kafka does not come back: %v", err)
		time.Sleep(50 * time.Millisecond)
	}
}

// NewKFake returns a broker of the test's own inside the process, which it may Stop
// and Start: address, records and offsets stay.
func NewKFake(t testing.TB) *Broker {
	t.Helper()
	return KFakeIn(t, t.TempDir())
}

// KFakeIn is the same on a folder that may have the data of a broker before it.
func KFakeIn(t testing.TB, dir string) *Broker {
	t.Helper()
	server := forTheTest(t, embedded.KafkaOptions{EngineOptions: embedded.EngineOptions{Dir: dir}}, embedded.StartKafka)
	return &Broker{Edition: KFake, Dir: dir, server: server, login: server.Security()}
}

// BrokerAt returns a broker that the test has started itself, and ends itself; login is
// how one logs in there.
func BrokerAt(addresses []string, login config.KafkaSecurity) *Broker {
	return &Broker{Edition: KFake, server: foreign(addresses), login: login}
}

// foreign is a broker that is not ours to stop.
type foreign []string

func (f foreign) Brokers() []string         { return f }
func (foreign) Start(context.Context) error { return errForeign }
func (foreign) Stop(context.Context) error  { return errForeign }

var errForeign = errors.New("testenv: the test started this broker itself")

// StoppableApacheKafka returns an Apache Kafka of the test's own, which it may Stop,
// Start and Signal. Where there is none the test is skipped, and reported as such.
func StoppableApacheKafka(t testing.TB, configure ...func(*embedded.ApacheKafkaOptions)) *embedded.ApacheKafka {
	t.Helper()
	jars := requireApache(t)
	o := embedded.ApacheKafkaOptions{EngineOptions: embedded.EngineOptions{Dir: t.TempDir()}, Jars: jars}
	for _, c := range configure {
		c(&o)
	}
	return forTheTest(t, o, embedded.StartApacheKafka)
}

// apachePackages are the jars, or why they cannot be had or run.
var apachePackages = sync.OnceValues(func() (*embedded.Jars, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return embedded.InstallApacheKafka(ctx, tell)
})

// apacheKafka starts the broker that the binary's tests share.
var apacheKafka = sync.OnceValues(func() (*embedded.ApacheKafka, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	jars, err := apachePackages()
	if err != nil {
		return nil, err
	}
	shared, err := folder()
	if err != nil {
		return nil, err
	}
	return embedded.StartApacheKafka(ctx, embedded.ApacheKafkaOptions{
		EngineOptions: embedded.EngineOptions{Dir: filepath.Join(shared, "apache-kafka")}, Jars: jars,
	})
})

// Brokers are the addresses, host:port.
func (b *Broker) Brokers() []string { return b.server.Brokers() }

// Login is how one logs in there, as the settings say it.
func (b *Broker) Login() config.KafkaSecurity { return b.login }

// Security is how one logs in there, for clients of package kafka.
func (b *Broker) Security() kafka.Security {
	s, err := kafka.Secure(nil, b.login.Mechanism(), b.login.SASLUsername, b.login.SASLPassword.Reveal())
	if err != nil {
		panic(err) // the mechanism is ours
	}
	return s
}

// Opts are the options of a client of the broker, and what more it is to have.
func (b *Broker) Opts(more ...kgo.Opt) []kgo.Opt {
	s := b.Security()
	opts := append(s.Opts(dialLimit), kgo.SeedBrokers(b.Brokers()...), kgo.DisableClientMetrics())
	return append(opts, more...)
}

// Settings lead a process to the broker: NAME=value, for its environment.
func (b *Broker) Settings() []string {
	return []string{
		"LIVEGRAPH_KAFKA_BROKERS=" + strings.Join(b.Brokers(), ","),
		"LIVEGRAPH_KAFKA_SASL_MECHANISM=" + b.login.SASLMechanism,
		"LIVEGRAPH_KAFKA_SASL_USERNAME=" + b.login.SASLUsername,
		"LIVEGRAPH_KAFKA_SASL_PASSWORD=" + b.login.SASLPassword.Reveal(),
	}
}

// Stop ends the broker in order.
func (b *Broker) Stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	require.NoError(t, b.server.Stop(ctx))
}

// Start starts it again at its address and with its records.
func (b *Broker) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	require.NoError(t, b.server.Start(ctx))
}

// Crash ends the broker without warning, and it comes back by itself. The one that
// is inside our process cannot crash without us and is stopped and started.
func (b *Broker) Crash(t testing.TB) {
	t.Helper()
	if apache, ok := b.server.(*embedded.ApacheKafka); ok {
		require.NoError(t, apache.Signal(syscall.SIGKILL))
		return
	}
	b.Stop(t)
	b.Start(t)
}

// Admin returns a client for what a test does to topics.
func (b *Broker) Admin(t testing.TB) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(b.Opts()...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// dialLimit bounds the time for a connection to a broker.
const dialLimit = 10 * time.Second

// answerLimit bounds the time for a broker to come back.
const answerLimit = time.Minute

// recreateLimit bounds the time for a topic to be gone.
const recreateLimit = 20 * time.Second

// Recreate deletes a topic and makes it again, as fast as the broker can.
func (b *Broker) Recreate(t testing.TB, topic string, partitions int32) {
	t.Helper()
	admin := b.Admin(t)
	ctx, cancel := context.WithTimeout(context.Background(), recreateLimit)
	defer cancel()
	_, err := admin.DeleteTopic(ctx, topic)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := admin.CreateTopic(ctx, partitions, -1, nil, topic)
		return err == nil
	}, recreateLimit, 10*time.Millisecond)
}

// Trim deletes the records of a partition below an offset.
func (b *Broker) Trim(t testing.TB, topic string, partition int32, below int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	var offsets kadm.Offsets
	offsets.AddOffset(topic, partition, below, -1)
	answers, err := b.Admin(t).DeleteRecords(ctx, offsets)
	require.NoError(t, err)
	require.NoError(t, answers.Error())
}
