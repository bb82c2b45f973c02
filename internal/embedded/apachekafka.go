package embedded

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/durable"
)

const (
	apacheName        = "apache-kafka"
	apacheStopTimeout = 10 * time.Second
	apacheHeap        = "256m"
	// apachePlain is the default listener.
	apachePlain      = "PLAINTEXT"
	apacheController = "CONTROLLER"
)

// ApacheKafkaOptions are the options of an Apache Kafka broker. Packages of EngineOptions
// is not used.
type ApacheKafkaOptions struct {
	EngineOptions
	Jars       *Jars             // default: InstallApacheKafka
	Properties map[string]string // added to server.properties; override the defaults
	Listeners  []KafkaListener   // in addition to the plaintext one
	// ClusterID is the id of a cluster with several brokers; default: random.
	ClusterID uuid.UUID
	// Joins is the cluster that this broker joins; nil: its own cluster.
	Joins *KafkaCluster
	// Scram are arguments for --add-scram of kafka-storage, such as
	// SCRAM-SHA-256=[name=u,password=p]. They are used only at the first start.
	Scram []string
}

// KafkaCluster describes the cluster that an additional broker joins. The first broker,
// number 1, is the controller.
type KafkaCluster struct {
	Controller string // host:port, see [ApacheKafka.Controller]
	Node       int    // number of the new broker, from 2
}

// KafkaListener is an additional listener of a broker, on its own port.
type KafkaListener struct {
	Name       string            // in capitals
	Protocol   string            // SSL, SASL_SSL or SASL_PLAINTEXT
	Properties map[string]string // without the prefix listener.name.….
}

// ApacheKafka is an Apache Kafka broker on the loopback interface. It is its own controller
// unless it joins a cluster. It is the software that production runs, in one Java process. Tests
// run with it in addition to the broker inside this process (see [StartKafka]).
type ApacheKafka struct {
	*Process
	ports  map[string]int // ports of listeners, by name
	claims []*portClaim   // of those ports until this process ends, because a restarted broker uses them again
}

// StartApacheKafka starts the broker. The first start formats its directory.
func StartApacheKafka(ctx context.Context, o ApacheKafkaOptions) (*ApacheKafka, error) {
	if o.Jars == nil {
		var err error
		if o.Jars, err = InstallApacheKafka(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	s, err := newEngineSetup(ctx, apacheName, o.EngineOptions)
	if err != nil {
		return nil, err
	}
	k := &ApacheKafka{ports: map[string]int{}}
	wanted := names(o.Listeners)
	if o.Joins == nil {
		wanted = append(wanted, apacheController)
	}
	for _, name := range wanted {
		if err := k.claimListenerPort(ctx, name); err != nil {
			return nil, fmt.Errorf("starting %s: %w", apacheName, err)
		}
	}
	address := func() string { return s.endpoint.address() }
	k.Process, err = s.run(ctx, spec{
		name:    apacheName,
		address: address,
		command: func() (*exec.Cmd, error) {
			if err := k.prepare(s, o); err != nil {
				return nil, err
			}
			return o.Jars.Command(s.Dir, apacheJava, "kafka.Kafka", "server.properties"), nil
		},
		ready:       func(ctx context.Context) error { return probeKafka(ctx, address()) },
		stopSignal:  syscall.SIGTERM,
		stopTimeout: apacheStopTimeout,
		deathSignal: syscall.SIGKILL, // acknowledged records are in the page cache
	})
	return k, err
}

// Brokers returns the bootstrap addresses, host:port, of the plaintext listener.
func (k *ApacheKafka) Brokers() []string { return []string{k.Address()} }

// Controller returns the address of the controller, host:port, for brokers that join the
// cluster. It is valid only for the first broker.
func (k *ApacheKafka) Controller() string { return k.Listener(apacheController) }

// Listener returns the address, host:port, of an additional listener.
func (k *ApacheKafka) Listener(name string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(k.ports[name]))
}

func names(listeners []KafkaListener) []string {
	var all []string
	for _, l := range listeners {
		all = append(all, l.Name)
	}
	return all
}

// claimListenerPort claims a free port for a listener.
func (k *ApacheKafka) claimListenerPort(ctx context.Context, name string) error {
	for attempt := 1; ; attempt++ {
		port, err := randomPort()
		if err != nil {
			return err
		}
		claim, err := claimPort(ctx, port)
		if err == nil {
			k.ports[name], k.claims = port, append(k.claims, claim)
			return nil
		}
		if !errors.Is(err, errPortTaken) || attempt == maxPortAttempts {
			return err
		}
	}
}

// prepare writes the settings of the broker and formats its directory if necessary.
func (k *ApacheKafka) prepare(s *engineSetup, o ApacheKafkaOptions) error {
	settings := k.settings(s, o)
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s=%s\n", key, strings.ReplaceAll(settings[key], `\`, `\\`))
	}
	if err := durable.WriteFile(filepath.Join(s.Dir, "server.properties"), []byte(text.String()), 0o600); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(settings["log.dirs"], "meta.properties"))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	format := o.Jars.Command(s.Dir, apacheJava, "kafka.tools.StorageTool", formatArguments(o.cluster(), o.Scram)...)
	if out, err := format.CombinedOutput(); err != nil {
		return fmt.Errorf("formatting its directory: %w: %s", err, out)
	}
	return nil
}

// cluster returns the id of the broker's cluster.
func (o *ApacheKafkaOptions) cluster() uuid.UUID {
	if o.ClusterID == uuid.Nil {
		return uuid.New()
	}
	return o.ClusterID
}

// formatArguments returns the arguments of kafka-storage for a new cluster. The id is not a
// separate argument, because one id in 64 starts with a dash and would be parsed as a flag.
func formatArguments(id uuid.UUID, scram []string) []string {
	args := []string{"format", "--cluster-id=" + base64.RawURLEncoding.EncodeToString(id[:]), "-c", "server.properties"}
	for _, user := range scram {
		args = append(args, "--add-scram", user)
	}
	return args
}

// settings returns the settings of a broker: of the first one, which is also the
// controller, or of an additional one.
func (k *ApacheKafka) settings(s *engineSetup, o ApacheKafkaOptions) map[string]string {
	var roles, node, controller string
	listeners := []string{apachePlain + "://" + s.endpoint.address()}
	if o.Joins == nil {
		roles, node, controller = "broker,controller", "1", k.Controller()
		listeners = append(listeners, apacheController+"://"+controller)
	} else {
		roles, node, controller = "broker", strconv.Itoa(o.Joins.Node), o.Joins.Controller
	}
	protocols := []string{"PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT"}
	settings := map[string]string{
		"process.roles": roles, "node.id": node, "controller.quorum.voters": "1@" + controller,
		"controller.listener.names": apacheController, "inter.broker.listener.name": apachePlain,
		"log.dirs":                         filepath.Join(s.Dir, "log"),
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "4",
		"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
		"share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1",
		"group.initial.rebalance.delay.ms": "0", "auto.create.topics.enable": "false",
		// After a crash, the broker waits for the end of its previous session.
		"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500",
	}
	for _, l := range o.Listeners {
		listeners = append(listeners, l.Name+"://"+k.Listener(l.Name))
		protocols = append(protocols, l.Name+":"+l.Protocol)
		for key, value := range l.Properties {
			settings["listener.name."+strings.ToLower(l.Name)+"."+key] = value
		}
	}
	settings["listeners"] = strings.Join(listeners, ",")
	settings["listener.security.protocol.map"] = strings.Join(protocols, ",")
	maps.Copy(settings, o.Properties)
	return settings
}

// apacheJava are the Java options for a small broker that starts quickly.
var apacheJava = []string{
	"-Xms64m", "-Xmx" + apacheHeap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
}

// probeKafka checks that a broker is part of its cluster.
func probeKafka(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	_ = conn.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}
