// Package kafkatest provides Kafka brokers for tests. It is separate from package testenv, so that tests without
// Kafka do not link its clients and the in-process broker.
package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/kafka/secure"
	"github.com/livegraph/livegraph/test/engines/apachekafka"
	"github.com/livegraph/livegraph/test/engines/jars"
	"github.com/livegraph/livegraph/test/testenv"
)

// Editions of Kafka on which tests run.
const (
	KFake  = "kfake"  // the in-process broker of the embedded edition
	Apache = "apache" // Apache Kafka, as in production
)

// Broker is a Kafka broker of one of the editions. Names of topics and groups that a test
// creates must start with Prefix, because other tests may share the broker.
type Broker struct {
	Edition string
	Prefix  string
	Dir     string // data folder of a broker that is not shared
	server  kafkaServer
	login   config.KafkaSecurity // zero: no login
}

// kafkaServer is the common interface of the editions.
type kafkaServer interface {
	Brokers() []string
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// EachKafka runs a test on an empty Kafka of each edition, on Apache Kafka only if all tests
// run (see testenv.Full). All tests of the binary share one Apache Kafka broker, each with its own
// Prefix, and therefore do not run in parallel. A test that stops the broker must start it
// again. If Apache Kafka cannot run, its tests are reported as not run.
func EachKafka(t *testing.T, test func(t *testing.T, k *Broker)) {
	t.Helper()
	t.Run(KFake, func(t *testing.T) { test(t, NewKFake(t)) })
	if !testenv.Full() {
		return
	}
	t.Run(Apache, func(t *testing.T) {
		requireApache(t)
		server, err := apacheKafka()
		if err != nil {
			t.Fatalf("kafkatest: %v", err)
		}
		k := &Broker{Edition: Apache, Prefix: fmt.Sprintf("test-%d-", serial.Add(1)), server: server}
		k.waitUntilReady(t)
		t.Cleanup(func() { k.waitUntilReady(t) }) // the next test requires a running broker
		test(t, k)
	})
}

// waitUntilReady waits until the broker responds. It may have crashed just before.
func (b *Broker) waitUntilReady(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	client, err := kgo.NewClient(b.Opts()...)
	require.NoError(t, err)
	defer client.Close()
	for {
		err := client.Ping(ctx)
		if err == nil {
			return
		}
		require.NoError(t, ctx.Err(), "kafkatest: Apache Kafka does not respond: %v", err)
		time.Sleep(50 * time.Millisecond)
	}
}

// NewKFake returns an in-process broker only for this test, which may Stop and Start it. It
// keeps its address, records and offsets.
func NewKFake(t testing.TB) *Broker {
	t.Helper()
	return KFakeIn(t, t.TempDir())
}

// KFakeIn is NewKFake in a folder that may have the data of an earlier broker.
func KFakeIn(t testing.TB, dir string) *Broker {
	t.Helper()
	server := testenv.StartForTest(t, embedded.KafkaOptions{Options: engine.Options{Dir: dir}}, embedded.StartKafka)
	return &Broker{Edition: KFake, Dir: dir, server: server, login: server.Security()}
}

// BrokerAt returns a broker that the test starts and stops itself, with the login to use.
func BrokerAt(addresses []string, login config.KafkaSecurity) *Broker {
	return &Broker{Edition: KFake, server: externalBroker(addresses), login: login}
}

// externalBroker is a broker that this package cannot start or stop.
type externalBroker []string

func (f externalBroker) Brokers() []string         { return f }
func (externalBroker) Start(context.Context) error { return errExternalBroker }
func (externalBroker) Stop(context.Context) error  { return errExternalBroker }

var errExternalBroker = errors.New("kafkatest: the test started this broker itself")

// StoppableApacheKafka returns an Apache Kafka only for this test, which may Stop, Start and
// Signal it. If Apache Kafka is unavailable, the test is skipped and reported as not run.
func StoppableApacheKafka(t testing.TB, configure ...func(*apachekafka.Options)) *apachekafka.Broker {
	t.Helper()
	installed := requireApache(t)
	o := apachekafka.Options{Options: engine.Options{Dir: t.TempDir()}, Jars: installed}
	for _, c := range configure {
		c(&o)
	}
	return testenv.StartForTest(t, o, apachekafka.Start)
}

// serial makes names unique within the binary.
var serial atomic.Int64

// requireApache returns the jars of Apache Kafka. If they cannot be installed, it skips the
// test and reports it as not run; with CI=true it fails the test.
func requireApache(t testing.TB) *jars.Installation {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Apache Kafka")
	}
	testenv.RequireFull(t)
	installed, err := apachePackages()
	if err != nil {
		testenv.SkipMissing(t, fmt.Sprintf("the tests of %s on Apache Kafka (%v); they run on kfake only",
			testenv.BinaryName(), err))
	}
	return installed
}

// apachePackages installs the jars once. It returns an error if they cannot be installed or run.
var apachePackages = sync.OnceValues(func() (*jars.Installation, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testenv.StartTimeout)
	defer cancel()
	return apachekafka.Install(ctx, testenv.PrintProgress)
})

// apacheKafka starts the broker that the binary's tests share.
var apacheKafka = sync.OnceValues(func() (*apachekafka.Broker, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testenv.StartTimeout)
	defer cancel()
	installed, err := apachePackages()
	if err != nil {
		return nil, err
	}
	shared, err := testenv.Folder()
	if err != nil {
		return nil, err
	}
	return apachekafka.Start(ctx, apachekafka.Options{
		Options: engine.Options{Dir: filepath.Join(shared, "apache-kafka")}, Jars: installed,
	})
})

// Brokers returns the addresses, host:port.
func (b *Broker) Brokers() []string { return b.server.Brokers() }

// Login returns the login as settings of Livegraph.
func (b *Broker) Login() config.KafkaSecurity { return b.login }

// Security returns the login for clients of package kafka.
func (b *Broker) Security() secure.Config {
	s, err := secure.New(nil, b.login.Mechanism(), b.login.SASLUsername, b.login.SASLPassword.Reveal())
	if err != nil {
		panic(err) // the mechanism is always valid
	}
	return s
}

// Opts returns the options of a client of the broker, followed by more.
func (b *Broker) Opts(more ...kgo.Opt) []kgo.Opt {
	s := b.Security()
	opts := append(s.Opts(nil, dialTimeout), kgo.SeedBrokers(b.Brokers()...), kgo.DisableClientMetrics())
	return append(opts, more...)
}

// Settings returns the settings that connect a process to the broker, as NAME=value for its
// environment.
func (b *Broker) Settings() []string {
	return []string{
		"LIVEGRAPH_KAFKA_BROKERS=" + strings.Join(b.Brokers(), ","),
		"LIVEGRAPH_KAFKA_SASL_MECHANISM=" + b.login.SASLMechanism,
		"LIVEGRAPH_KAFKA_SASL_USERNAME=" + b.login.SASLUsername,
		"LIVEGRAPH_KAFKA_SASL_PASSWORD=" + b.login.SASLPassword.Reveal(),
	}
}

// Stop shuts the broker down gracefully.
func (b *Broker) Stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.DropTimeout)
	defer cancel()
	require.NoError(t, b.server.Stop(ctx))
}

// Start starts the broker again with the same address and records.
func (b *Broker) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.StartTimeout)
	defer cancel()
	require.NoError(t, b.server.Start(ctx))
}

// Crash kills the broker, which then restarts by itself. An in-process broker is stopped and
// started instead, because it cannot crash alone.
func (b *Broker) Crash(t testing.TB) {
	t.Helper()
	if apache, ok := b.server.(*apachekafka.Broker); ok {
		require.NoError(t, apache.Signal(syscall.SIGKILL))
		return
	}
	b.Stop(t)
	b.Start(t)
}

// Admin returns an admin client of the broker.
func (b *Broker) Admin(t testing.TB) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(b.Opts()...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// dialTimeout bounds the time for a connection to a broker.
const dialTimeout = 10 * time.Second

// readyTimeout bounds the wait for a broker to respond.
const readyTimeout = time.Minute

// recreateTimeout bounds the time for the deletion of a topic.
const recreateTimeout = 20 * time.Second

// Recreate deletes a topic and creates it again as soon as the broker allows.
func (b *Broker) Recreate(t testing.TB, topic string, partitions int32) {
	t.Helper()
	admin := b.Admin(t)
	ctx, cancel := context.WithTimeout(context.Background(), recreateTimeout)
	defer cancel()
	_, err := admin.DeleteTopic(ctx, topic)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := admin.CreateTopic(ctx, partitions, -1, nil, topic)
		return err == nil
	}, recreateTimeout, 10*time.Millisecond)
}

// Trim deletes the records of a partition below an offset.
func (b *Broker) Trim(t testing.TB, topic string, partition int32, below int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.DropTimeout)
	defer cancel()
	var offsets kadm.Offsets
	offsets.AddOffset(topic, partition, below, -1)
	responses, err := b.Admin(t).DeleteRecords(ctx, offsets)
	require.NoError(t, err)
	require.NoError(t, responses.Error())
}
