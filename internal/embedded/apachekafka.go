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
	apacheName      = "apache-kafka"
	apacheStopLimit = 10 * time.Second
	apacheHeap      = "256m"
	// apachePlain is the listener that is always there.
	apachePlain      = "PLAINTEXT"
	apacheController = "CONTROLLER"
)

// ApacheKafkaOptions adds to EngineOptions, of which Packages is not used, what
// only Apache Kafka has.
type ApacheKafkaOptions struct {
	EngineOptions
	Jars       *Jars             // default: InstallApacheKafka
	Properties map[string]string // of server.properties, beside or instead of ours
	Listeners  []KafkaListener   // beside the one in plain text
	// ClusterID is that of a cluster of several brokers; default: a random one.
	ClusterID uuid.UUID
	// Joins makes this a further broker of a cluster; nil: its own cluster.
	Joins *KafkaCluster
	// Scram are the arguments of kafka-storage's --add-scram, such as
	// SCRAM-SHA-256=[name=u,password=p]. They count at the first start.
	Scram []string
}

// KafkaCluster is what a further broker has to know of the cluster that it joins. The
// broker that began it, number 1, is the controller.
type KafkaCluster struct {
	Controller string // host:port, see [ApacheKafka.Controller]
	Node       int    // number of the new broker, from 2
}

// KafkaListener is a further listener of a broker, on its own port.
type KafkaListener struct {
	Name       string            // in capitals
	Protocol   string            // SSL, SASL_SSL or SASL_PLAINTEXT
	Properties map[string]string // without the prefix listener.name.….
}

// ApacheKafka is a broker of Apache Kafka, its own controller unless it joins another's
// cluster, on the loopback. It is what production runs, in one process of Java; Livegraph's tests
// are tried on it beside the broker that is inside this process (see [StartKafka]).
type ApacheKafka struct {
	*Process
	ports  map[string]int // of listeners, by name
	claims []*portClaim   // of those ports, for as long as we live: a broker that was stopped comes back to them
}

// StartApacheKafka starts the broker. The first start formats its directory.
func StartApacheKafka(ctx context.Context, o ApacheKafkaOptions) (*ApacheKafka, error) {
	if o.Jars == nil {
		var err error
		if o.Jars, err = InstallApacheKafka(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	s, err := newSite(ctx, apacheName, o.EngineOptions)
	if err != nil {
		return nil, err
	}
	k := &ApacheKafka{ports: map[string]int{}}
	wanted := names(o.Listeners)
	if o.Joins == nil {
		wanted = append(wanted, apacheController)
	}
	for _, name := range wanted {
		if err := k.holdPort(ctx, name); err != nil {
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
		stopLimit:   apacheStopLimit,
		deathSignal: syscall.SIGKILL, // what was acknowledged is with the kernel
	})
	return k, err
}

// Brokers are the addresses to begin with, host:port, of the listener in plain text.
func (k *ApacheKafka) Brokers() []string { return []string{k.Address()} }

// Controller is the address, host:port, at which further brokers find the cluster. The
// broker must have begun it.
func (k *ApacheKafka) Controller() string { return k.Listener(apacheController) }

// Listener is the address, host:port, of a further listener.
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

// holdPort claims a free port for a listener.
func (k *ApacheKafka) holdPort(ctx context.Context, name string) error {
	for choice := 1; ; choice++ {
		port, err := somePort()
		if err != nil {
			return err
		}
		claim, err := claimPort(ctx, port)
		if err == nil {
			k.ports[name], k.claims = port, append(k.claims, claim)
			return nil
		}
		if !errors.Is(err, errPortTaken) || choice == portChoices {
			return err
		}
	}
}

// prepare writes the broker's settings, and formats its directory if that has not
// been done.
func (k *ApacheKafka) prepare(s *site, o ApacheKafkaOptions) error {
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

// cluster is the id of the broker's cluster.
func (o *ApacheKafkaOptions) cluster() uuid.UUID {
	if o.ClusterID == uuid.Nil {
		return uuid.New()
	}
	return o.ClusterID
}

// formatArguments are those of kafka-storage for a new cluster. One id in 64 begins
// with a dash, which after a space would be taken for a flag.
func formatArguments(id uuid.UUID, scram []string) []string {
	args := []string{"format", "--cluster-id=" + base64.RawURLEncoding.EncodeToString(id[:]), "-c", "server.properties"}
	for _, user := range scram {
		args = append(args, "--add-scram", user)
	}
	return args
}

// settings are those of a single broker that also is the controller, or of a further
// one.
func (k *ApacheKafka) settings(s *site, o ApacheKafkaOptions) map[string]string {
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
		// After a crash the broker waits for its own old session to end.
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

// apacheJava are Java's options for a broker that is small and starts soon.
var apacheJava = []string{
	"-Xms64m", "-Xmx" + apacheHeap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
}

// probeKafka asks a broker whether it takes part in its cluster.
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
