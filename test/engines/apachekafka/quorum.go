package apachekafka

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

// Quorum is a cluster of brokers that are all controllers, in one Java process each. It works while most
// of them do.
type Quorum struct {
	Members []*Broker // the broker with id i+1 is Members[i]
	options Options   // of each member
	// controllers are the addresses of the first members, which are controllers.
	controllers []string
	// claims are those of the controllers' ports.
	claims []*supervisor.PortClaim
}

// member is what a broker knows of its quorum.
type member struct {
	node        int      // its id, from 1
	controllers []string // addresses of the controllers by id, host:port
}

// roles returns the value of process.roles.
func (m *member) roles() string {
	if m.node > len(m.controllers) {
		return "broker"
	}
	return "broker,controller"
}

// voters returns the value of controller.quorum.voters.
func (m *member) voters() string {
	var all []string
	for i, address := range m.controllers {
		all = append(all, strconv.Itoa(i+1)+"@"+address)
	}
	return strings.Join(all, ",")
}

// quorumSettings returns settings of each of n brokers. The timeouts are those of a busy machine: a broker
// that does not respond is replaced as leader after six seconds.
func quorumSettings(n int) map[string]string {
	replicas := strconv.Itoa(n)
	return map[string]string{
		"default.replication.factor": replicas, "offsets.topic.replication.factor": replicas,
		"transaction.state.log.replication.factor":         replicas,
		"share.coordinator.state.topic.replication.factor": replicas,
		"broker.session.timeout.ms":                        "6000", "broker.heartbeat.interval.ms": "500",
		"controller.quorum.election.timeout.ms": "2000", "controller.quorum.fetch.timeout.ms": "4000",
	}
}

// StartQuorum starts n brokers, each in a folder of o.Dir, and waits until they know each other. By
// default, a topic has a replica on each.
func StartQuorum(ctx context.Context, o Options, n int) (*Quorum, error) {
	q := &Quorum{Members: make([]*Broker, n)}
	if err := q.start(ctx, o); err != nil {
		_ = q.Stop(ctx)
		return nil, fmt.Errorf("starting %d brokers: %w", n, err)
	}
	return q, nil
}

func (q *Quorum) start(ctx context.Context, o Options) error {
	for range q.Members {
		port, claim, err := claimPort(ctx)
		if err != nil {
			return err
		}
		q.claims = append(q.claims, claim)
		q.controllers = append(q.controllers, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	properties := quorumSettings(len(q.Members))
	maps.Copy(properties, o.Properties)
	o.Properties, o.ClusterID = properties, uuid.New()
	q.options = o
	// Together, because none is ready before most of them are.
	group, starting := errgroup.WithContext(ctx)
	for i := range q.Members {
		group.Go(func() (err error) {
			q.Members[i], err = q.startMember(starting, i+1)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return q.Await(ctx, len(q.Members))
}

func (q *Quorum) startMember(ctx context.Context, id int) (*Broker, error) {
	o := q.options
	o.member = &member{node: id, controllers: q.controllers}
	o.Dir = filepath.Join(o.Dir, "broker-"+strconv.Itoa(id))
	return Start(ctx, o)
}

// Add starts another broker, which is no controller, and returns its id.
func (q *Quorum) Add(ctx context.Context) (int32, error) {
	id := len(q.Members) + 1
	broker, err := q.startMember(ctx, id)
	if err != nil {
		return 0, err
	}
	q.Members = append(q.Members, broker)
	return int32(id), nil
}

// Stop kills the brokers: a broker that leaves in order waits for the others.
func (q *Quorum) Stop(ctx context.Context) error {
	var group errgroup.Group
	for _, b := range q.Members {
		if b != nil {
			group.Go(func() error { return b.Kill(ctx) })
		}
	}
	err := group.Wait()
	for _, claim := range q.claims {
		claim.Release()
	}
	return err
}

// Brokers returns the bootstrap addresses, host:port.
func (q *Quorum) Brokers() []string {
	var all []string
	for _, b := range q.Members {
		all = append(all, b.Address())
	}
	return all
}

// Broker returns the broker with an id.
func (q *Quorum) Broker(id int32) *Broker { return q.Members[id-1] }

// Await waits until n brokers are part of the cluster.
func (q *Quorum) Await(ctx context.Context, n int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(q.Brokers()...), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		once, cancel := context.WithTimeout(ctx, probeTimeout)
		meta, err := kadm.NewClient(client).BrokerMetadata(once)
		cancel()
		if err == nil && len(meta.Brokers) == n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d brokers are part of the cluster: %w", len(meta.Brokers), n, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
