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

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/kafka/secure"
)

// clusterID is the cluster id of the embedded broker. It is part of its data.
const clusterID = "livegraph"

const (
	kafkaName = "kafka"
	kafkaUser = "livegraph"

	// kafkaRetentionInterval is the interval at which old segments are removed. The
	// ticker of the broker itself does not start after a restart.
	kafkaRetentionInterval = 2 * time.Second
	// kafkaMaxMessage is the maximum batch size; Livegraph's batches are at most 1 MiB.
	kafkaMaxMessage = 8 << 20
	// kafkaSegmentBytes is small so that retention.bytes, which removes only whole
	// segments, keeps a partition close to its limit.
	kafkaSegmentBytes = 16 << 20
	// kafkaRetentionBytes is the default retention of a partition.
	kafkaRetentionBytes = 256 << 20
)

// KafkaOptions are the options of the embedded broker.
type KafkaOptions struct {
	engine.Options
	SyncWrites bool // fsync each batch before it is acknowledged
	// Advertised is the advertised address, host:port; default: the listen address. It is
	// for tests behind a proxy.
	Advertised string
}

// Kafka is a broker inside this process that stores its records on disk. It listens on the
// loopback interface, to which every process of the machine can connect. It requires the login
// that Security returns.
type Kafka struct {
	site    *engine.Setup
	options KafkaOptions

	mu            sync.Mutex
	cluster       *kfake.Cluster
	claim         *supervisor.PortClaim
	stop          chan struct{}
	retentionDone chan struct{}
}

// StartKafka starts the broker.
func StartKafka(ctx context.Context, o KafkaOptions) (*Kafka, error) {
	s, err := engine.NewSetup(ctx, kafkaName, nil, o.Options)
	if err != nil {
		return nil, err
	}
	k := &Kafka{site: s, options: o}
	if err := s.StartOnFreePort(ctx, k.Start); err != nil {
		return nil, err
	}
	return k, nil
}

// Name returns the name of the engine.
func (k *Kafka) Name() string { return kafkaName }

// Brokers returns the bootstrap addresses, host:port.
func (k *Kafka) Brokers() []string { return []string{k.site.Endpoint.Address()} }

// Security returns the login for clients. The password is the one in the broker's folder.
func (k *Kafka) Security() config.KafkaSecurity {
	return config.KafkaSecurity{
		SASLMechanism: secure.Scram256, SASLUsername: kafkaUser,
		SASLPassword: config.Secret(k.site.Endpoint.Password),
	}
}

// Start opens the log and the port. It is for use after Stop.
func (k *Kafka) Start(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cluster != nil {
		return errors.New("kafka is started already")
	}
	claim, err := supervisor.ClaimPort(ctx, k.site.Endpoint.Port)
	if err != nil {
		return fmt.Errorf("starting kafka: %w", err)
	}
	log := filepath.Join(k.site.Dir, "log")
	if err := removeLogins(log); err != nil {
		claim.Release()
		return fmt.Errorf("starting kafka: %w", err)
	}
	options := []kfake.Opt{
		kfake.NumBrokers(1), kfake.Ports(k.site.Endpoint.Port), kfake.DataDir(log), kfake.ClusterID(clusterID),
		kfake.ListenFn(k.listen),
		// Only SCRAM: with PLAIN, kfake would accept any unknown user without a password.
		kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", kafkaUser, k.site.Endpoint.Password),
		kfake.BrokerConfigs(map[string]string{
			"message.max.bytes":   strconv.Itoa(kafkaMaxMessage),
			"log.segment.bytes":   strconv.Itoa(kafkaSegmentBytes),
			"log.retention.ms":    "-1",
			"log.retention.bytes": strconv.Itoa(kafkaRetentionBytes),
		}),
	}
	if k.options.SyncWrites {
		options = append(options, kfake.SyncWrites())
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		claim.Release()
		return fmt.Errorf("starting kafka: %w", err)
	}
	k.cluster, k.claim = cluster, claim
	k.stop, k.retentionDone = make(chan struct{}), make(chan struct{})
	go applyRetention(cluster, k.stop, k.retentionDone)
	return nil
}

// removeLogins removes the logins that the broker has stored in the folder of its log. They have
// precedence over those of its options. A broker that was started without logins, as in earlier
// versions, has stored an empty list.
func removeLogins(log string) error {
	if err := os.Remove(filepath.Join(log, "sasl.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// listen listens on the broker's port. kfake advertises the address of the listener to
// clients.
func (k *Kafka) listen(network, address string) (net.Listener, error) {
	l, err := supervisor.Listen(network, address)
	if err != nil {
		return nil, err
	}
	l = guardedListener{l}
	if k.options.Advertised == "" {
		return l, nil
	}
	addr, err := net.ResolveTCPAddr(network, k.options.Advertised)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the advertised address: %w", err), l.Close())
	}
	return advertised{l, addr}, nil
}

// advertised is a listener that reports another address.
type advertised struct {
	net.Listener
	addr net.Addr
}

// Addr returns the advertised address.
func (a advertised) Addr() net.Addr { return a.addr }

// applyRetention removes records beyond the retention of their topics until stop is closed.
func applyRetention(cluster *kfake.Cluster, stop, ticked chan struct{}) {
	defer close(ticked)
	tick := time.NewTicker(kafkaRetentionInterval)
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
	<-k.retentionDone
	k.cluster.Close()
	k.cluster = nil
	k.claim.Release()
	return nil
}
