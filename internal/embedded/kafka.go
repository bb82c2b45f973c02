package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/kafka"
)

// clusterID is that of the embedded broker. It is part of its data.
const clusterID = "livegraph"

const (
	kafkaName = "kafka"
	kafkaUser = "livegraph"

	// kafkaRetentionEvery is how often old segments are dropped. The broker's
	// own ticker does not start after a restart.
	kafkaRetentionEvery = 2 * time.Second
	// kafkaMaxMessage is the largest batch; ours are at most 1 MiB.
	kafkaMaxMessage = 8 << 20
	// kafkaSegment is small so that retention.bytes, which drops whole
	// segments, keeps a partition near its bound.
	kafkaSegment = 16 << 20
	// kafkaRetention bounds a partition of a topic that says nothing itself.
	kafkaRetention = 256 << 20
)

// KafkaOptions adds to EngineOptions what only Kafka has.
type KafkaOptions struct {
	EngineOptions
	SyncWrites bool // fsync each batch before it is acknowledged
	// Advertised is where clients are told to connect, host:port, which is to lead here;
	// default: where the broker listens. For tests behind a proxy.
	Advertised string
}

// Kafka is a broker inside this process that keeps its records on disk. It listens on the
// loopback, to which every process of the machine can connect: it answers anyone who has
// logged in with Security, and nobody else.
type Kafka struct {
	site    *site
	options KafkaOptions

	mu      sync.Mutex
	cluster *kfake.Cluster
	claim   *portClaim
	stop    chan struct{}
	ticked  chan struct{}
}

// StartKafka starts the broker.
func StartKafka(ctx context.Context, o KafkaOptions) (*Kafka, error) {
	s, err := newSite(ctx, kafkaName, o.EngineOptions)
	if err != nil {
		return nil, err
	}
	k := &Kafka{site: s, options: o}
	if err := s.onSomePort(ctx, k.Start); err != nil {
		return nil, err
	}
	return k, nil
}

// Name is the engine's name.
func (k *Kafka) Name() string { return kafkaName }

// Brokers are the addresses to begin with, host:port.
func (k *Kafka) Brokers() []string { return []string{k.site.endpoint.address()} }

// Security is how a client logs in. The password is the one in the broker's folder.
func (k *Kafka) Security() config.KafkaSecurity {
	return config.KafkaSecurity{
		SASLMechanism: kafka.MechanismScram256, SASLUsername: kafkaUser,
		SASLPassword: config.Secret(k.site.endpoint.Password),
	}
}

// Start opens the log and the port; for use after Stop.
func (k *Kafka) Start(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cluster != nil {
		return errors.New("kafka is started already")
	}
	claim, err := claimPort(ctx, k.site.endpoint.Port)
	if err != nil {
		return fmt.Errorf("starting kafka: %w", err)
	}
	log := filepath.Join(k.site.Dir, "log")
	if err := forgetLogins(log); err != nil {
		claim.release()
		return fmt.Errorf("starting kafka: %w", err)
	}
	options := []kfake.Opt{
		kfake.NumBrokers(1), kfake.Ports(k.site.endpoint.Port), kfake.DataDir(log), kfake.ClusterID(clusterID),
		kfake.ListenFn(k.listen),
		// One way to log in: by PLAIN, kfake would believe any unknown user without a password.
		kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", kafkaUser, k.site.endpoint.Password),
		kfake.BrokerConfigs(map[string]string{
			"message.max.bytes":   strconv.Itoa(kafkaMaxMessage),
			"log.segment.bytes":   strconv.Itoa(kafkaSegment),
			"log.retention.ms":    "-1",
			"log.retention.bytes": strconv.Itoa(kafkaRetention),
		}),
	}
	if k.options.SyncWrites {
		options = append(options, kfake.SyncWrites())
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		claim.release()
		return fmt.Errorf("starting kafka: %w", err)
	}
	k.cluster, k.claim = cluster, claim
	k.stop, k.ticked = make(chan struct{}), make(chan struct{})
	go retain(cluster, k.stop, k.ticked)
	return nil
}

// forgetLogins removes the logins that the broker has kept in its log's folder: they count
// more than those that it is started with, and one that was started without any, as ours
// was once, has kept that there is nobody to log in.
func forgetLogins(log string) error {
	if err := os.Remove(filepath.Join(log, "sasl.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// listen listens at the broker's port. What kfake tells clients of itself is the
// listener's address.
func (k *Kafka) listen(network, address string) (net.Listener, error) {
	l, err := listenPatiently(network, address, portPatience)
	if err != nil {
		return nil, err
	}
	l = framed{l}
	if k.options.Advertised == "" {
		return l, nil
	}
	at, err := net.ResolveTCPAddr(network, k.options.Advertised)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the advertised address: %w", err), l.Close())
	}
	return advertised{l, at}, nil
}

// advertised is a listener that says it is somewhere else.
type advertised struct {
	net.Listener
	at net.Addr
}

// Addr is where clients are to connect.
func (a advertised) Addr() net.Addr { return a.at }

// retain drops what is beyond the topics' retention, until stop is closed.
func retain(cluster *kfake.Cluster, stop, ticked chan struct{}) {
	defer close(ticked)
	tick := time.NewTicker(kafkaRetentionEvery)
	defer tick.Stop()
	for {
		cluster.ApplyRetention()
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// Stop closes the port and the log.
func (k *Kafka) Stop(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cluster == nil {
		return nil
	}
	close(k.stop)
	<-k.ticked
	k.cluster.Close()
	k.cluster = nil
	k.claim.release()
	return nil
}
