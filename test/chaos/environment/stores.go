package environment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

// Stores are connections to the engines that bypass the proxies.
type Stores struct {
	Postgres   *pgxpool.Pool
	ClickHouse driver.Conn // connected to the database of the environment
	Kafka      []string    // seed brokers
	Log        *kadm.Client
	Redis      *redis.Client
	Milvus     string // host:port
}

// Connect opens connections to the engines that bypass the proxies. The caller closes them.
func (env *Environment) Connect(ctx context.Context) (*Stores, error) {
	s := &Stores{Kafka: env.Brokers(), Milvus: env.Engine(Milvus).Direct}
	config, err := pgxpool.ParseConfig(env.Engine(Postgres).Direct)
	if err != nil {
		return nil, fmt.Errorf("connecting to Postgres: %w", err)
	}
	config.MaxConns = 4
	config.ConnConfig.RuntimeParams["application_name"] = ObserverName
	if s.Postgres, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("connecting to Postgres: %w", err)
	}
	options, err := clickhouse.Driver(env.Engine(ClickHouse).Direct, nil)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.ClickHouse, err = ch.Open(options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	client, err := kgo.NewClient(env.DirectKafkaOptions()...)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Log = kadm.NewClient(client)
	at, err := redis.ParseURL(env.Engine(Redis).Direct)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Redis = redis.NewClient(at)
	return s, nil
}

// ObserverName is the application_name of this program's connections to Postgres, which faults
// exclude.
const ObserverName = "chaos-observer"

// DirectKafkaOptions returns the options of a Kafka client that bypasses the proxies, whose
// addresses the brokers advertise.
func (env *Environment) DirectKafkaOptions() []kgo.Opt {
	direct := map[string]string{}
	for _, name := range []string{Kafka, Kafka2} {
		if e := env.Engine(name); e != nil {
			direct[e.ProxyAddress] = e.Direct
		}
	}
	return env.KafkaOptions(kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, cmp.Or(direct[host], host))
	}))
}

// Close closes the connections.
func (s *Stores) Close() error {
	var errs []error
	if s.Postgres != nil {
		s.Postgres.Close()
	}
	if s.ClickHouse != nil {
		errs = append(errs, s.ClickHouse.Close())
	}
	if s.Log != nil {
		s.Log.Close()
	}
	if s.Redis != nil {
		errs = append(errs, s.Redis.Close())
	}
	return errors.Join(errs...)
}

// RemoveDeadMembers removes dead members from the consumer groups until ctx ends, and returns how
// often it did. The embedded Kafka never notices that a member died while it waited for the others
// to join: the member would keep its partitions forever. If a group has had more members than there
// are processes for longer than a session, all its members are removed, and the live ones join
// again.
func (env *Environment) RemoveDeadMembers(ctx context.Context, s *Stores, groups map[string]string) (removed int) {
	if env.Apache() {
		return 0
	}
	const every, waitTimeout = 500 * time.Millisecond, SessionTimeout + 1500*time.Millisecond
	since := map[string]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return removed
		case <-time.After(every):
		}
		described, err := s.Log.DescribeGroups(ctx, slices.Collect(maps.Keys(groups))...)
		if err != nil {
			continue
		}
		for name, group := range described {
			switch first, seen := since[name]; {
			case len(group.Members) <= len(env.Roles(groups[name])):
				delete(since, name)
			case !seen:
				since[name] = time.Now()
			case time.Since(first) > waitTimeout:
				delete(since, name)
				removed++
				env.removeMembers(ctx, group)
			}
		}
	}
}

// removeMembers removes all members of a group.
func (env *Environment) removeMembers(ctx context.Context, group kadm.DescribedGroup) {
	client, err := kgo.NewClient(env.DirectKafkaOptions()...)
	if err != nil {
		return
	}
	defer client.Close()
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group = group.Group
	for _, m := range group.Members {
		member := kmsg.NewLeaveGroupRequestMember()
		member.MemberID = m.MemberID
		leave.Members = append(leave.Members, member)
	}
	_, err = leave.RequestWith(ctx, client)
	env.options.Log.Info(
		"members that are not there were removed from a group", "group", group.Group, "members", len(group.Members), "error",
		err,
	)
}
