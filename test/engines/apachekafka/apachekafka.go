// Package apachekafka runs brokers of Apache Kafka, the software that production runs, for tests.
// They require Java 17, and Maven for the installation.
package apachekafka

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

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/internal/platform/durable"
	"github.com/livegraph/livegraph/test/engines/jars"
)

const (
	name         = "apache-kafka"
	stopTimeout  = 10 * time.Second
	probeTimeout = 2 * time.Second
	heap         = "256m"
	// plainListener is the name of the default listener.
	plainListener      = "PLAINTEXT"
	controllerListener = "CONTROLLER"
)

// Options are the options of a broker. Packages of engine.Options is not used.
type Options struct {
	engine.Options
	Jars       *jars.Installation // default: Install
	Properties map[string]string  // added to server.properties; override the defaults
	Listeners  []Listener         // in addition to the plaintext one
	// ClusterID is the id of a cluster with several brokers; default: random.
	ClusterID uuid.UUID
	// Joins is the cluster that this broker joins; nil: its own cluster.
	Joins *Cluster
	// member makes the broker one of a quorum; see StartQuorum.
	member *member
	// Scram are arguments for --add-scram of kafka-storage, such as
	// SCRAM-SHA-256=[name=u,password=p]. They are used only at the first start.
	Scram []string
}

// Cluster describes the cluster that an additional broker joins. The first broker,
// number 1, is the controller.
type Cluster struct {
	Controller string // host:port, see [Broker.Controller]
	Node       int    // number of the new broker, from 2
}

// Listener is an additional listener of a broker, on its own port.
type Listener struct {
	Name       string            // in capitals
	Protocol   string            // SSL, SASL_SSL or SASL_PLAINTEXT
	Properties map[string]string // without the prefix listener.name.….
}

// Broker is an Apache Kafka broker on the loopback interface, in one Java process. It is its own
// controller unless it joins a cluster.
type Broker struct {
	*supervisor.Process
	ports map[string]int // ports of listeners, by name
	// claims are those of the ports until this process ends, because a restarted broker uses them again.
	claims []*supervisor.PortClaim
}

// Start starts the broker. The first start formats its directory.
func Start(ctx context.Context, o Options) (*Broker, error) {
	if o.Jars == nil {
		var err error
		if o.Jars, err = Install(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	s, err := engine.NewSetup(ctx, name, nil, o.Options)
	if err != nil {
		return nil, err
	}
	b := &Broker{ports: map[string]int{}}
	wanted := names(o.Listeners)
	if o.Joins == nil && o.member == nil {
		wanted = append(wanted, controllerListener)
	}
	for _, listener := range wanted {
		if err := b.claimListenerPort(ctx, listener); err != nil {
			return nil, fmt.Errorf("starting %s: %w", name, err)
		}
	}
	address := func() string { return s.Endpoint.Address() }
	b.Process, err = s.Run(ctx, supervisor.Spec{
		Address: address,
		Command: func() (*exec.Cmd, error) {
			if err := prepare(s.Dir, b.settings(s.Dir, s.Endpoint.Address(), o), o); err != nil {
				return nil, err
			}
			return command(s.Dir, o), nil
		},
		Ready:       func(ctx context.Context) error { return Probe(ctx, address()) },
		StopSignal:  syscall.SIGTERM,
		StopTimeout: stopTimeout,
		DeathSignal: syscall.SIGKILL, // acknowledged records are in the page cache
	})
	return b, err
}

// Brokers returns the bootstrap addresses, host:port, of the plaintext listener.
func (b *Broker) Brokers() []string { return []string{b.Address()} }

// Kill kills the broker. It starts again only by Start.
func (b *Broker) Kill(ctx context.Context) error {
	_ = b.Signal(syscall.SIGKILL) // it may have ended
	return b.Stop(ctx)
}

// Controller returns the address of the controller, host:port, for brokers that join the
// cluster. It is valid only for the first broker.
func (b *Broker) Controller() string { return b.Listener(controllerListener) }

// Listener returns the address, host:port, of an additional listener.
func (b *Broker) Listener(listener string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(b.ports[listener]))
}

func names(listeners []Listener) []string {
	var all []string
	for _, l := range listeners {
		all = append(all, l.Name)
	}
	return all
}

// claimListenerPort claims a free port for a listener.
func (b *Broker) claimListenerPort(ctx context.Context, listener string) error {
	port, claim, err := claimPort(ctx)
	if err == nil {
		b.ports[listener], b.claims = port, append(b.claims, claim)
	}
	return err
}

// claimPort claims a free port.
func claimPort(ctx context.Context) (int, *supervisor.PortClaim, error) {
	for attempt := 1; ; attempt++ {
		port, err := supervisor.RandomPort()
		if err != nil {
			return 0, nil, err
		}
		claim, err := supervisor.ClaimPort(ctx, port)
		if err == nil {
			return port, claim, nil
		}
		if !errors.Is(err, supervisor.ErrPortTaken) || attempt == supervisor.MaxPortAttempts {
			return 0, nil, err
		}
	}
}

// command returns the command of a broker whose directory is prepared.
func command(dir string, o Options) *exec.Cmd {
	return o.Jars.Command(dir, javaOptions, "kafka.Kafka", "server.properties")
}

// prepare writes the settings of a broker and formats its directory if necessary.
func prepare(dir string, settings map[string]string, o Options) error {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s=%s\n", key, strings.ReplaceAll(settings[key], `\`, `\\`))
	}
	if err := durable.WriteFile(filepath.Join(dir, "server.properties"), []byte(text.String()), 0o600); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(settings["log.dirs"], "meta.properties"))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	format := o.Jars.Command(dir, javaOptions, "kafka.tools.StorageTool", formatArguments(o.cluster(), o.Scram)...)
	if out, err := format.CombinedOutput(); err != nil {
		return fmt.Errorf("formatting its directory: %w: %s", err, out)
	}
	return nil
}

// cluster returns the id of the broker's cluster.
func (o *Options) cluster() uuid.UUID {
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
func (b *Broker) settings(dir, address string, o Options) map[string]string {
	var roles, node, voters string
	listeners := []string{plainListener + "://" + address}
	switch {
	case o.member != nil:
		roles, node, voters = o.member.roles(), strconv.Itoa(o.member.node), o.member.voters()
		if o.member.node <= len(o.member.controllers) {
			listeners = append(listeners, controllerListener+"://"+o.member.controllers[o.member.node-1])
		}
	case o.Joins != nil:
		roles, node, voters = "broker", strconv.Itoa(o.Joins.Node), "1@"+o.Joins.Controller
	default:
		roles, node, voters = "broker,controller", "1", "1@"+b.Controller()
		listeners = append(listeners, controllerListener+"://"+b.Controller())
	}
	protocols := []string{"PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT"}
	settings := map[string]string{
		"process.roles": roles, "node.id": node, "controller.quorum.voters": voters,
		"controller.listener.names": controllerListener, "inter.broker.listener.name": plainListener,
		"log.dirs":                         filepath.Join(dir, "log"),
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "4",
		"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
		"share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1",
		"group.initial.rebalance.delay.ms": "0", "auto.create.topics.enable": "false",
		// After a crash, the broker waits for the end of its previous session.
		"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500",
	}
	for _, l := range o.Listeners {
		listeners = append(listeners, l.Name+"://"+b.Listener(l.Name))
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

// javaOptions are the Java options for a small broker that starts quickly.
var javaOptions = []string{
	"-Xms64m", "-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
}

// Probe checks that a broker is part of its cluster.
func Probe(ctx context.Context, address string) error {
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
