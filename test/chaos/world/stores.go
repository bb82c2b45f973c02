package world

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

// Stores are connections to the engines past the proxies: what really stands.
type Stores struct {
	Postgres   *pgxpool.Pool
	ClickHouse driver.Conn // the database of the world
	Kafka      []string    // seed brokers
	Log        *kadm.Client
	Redis      *redis.Client
	Milvus     string // host:port
}

// Connect opens connections to the engines. The caller closes them.
func (w *World) Connect(ctx context.Context) (*Stores, error) {
	s := &Stores{Kafka: w.Brokers(), Milvus: w.Engine(Milvus).Direct}
	config, err := pgxpool.ParseConfig(w.Engine(Postgres).Direct)
	if err != nil {
		return nil, fmt.Errorf("connecting to Postgres: %w", err)
	}
	config.MaxConns = 4
	config.ConnConfig.RuntimeParams["application_name"] = Observer
	if s.Postgres, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("connecting to Postgres: %w", err)
	}
	options, err := clickhouse.Driver(w.Engine(ClickHouse).Direct, nil)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.ClickHouse, err = ch.Open(options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	client, err := kgo.NewClient(w.DirectKafka()...)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Log = kadm.NewClient(client)
	at, err := redis.ParseURL(w.Engine(Redis).Direct)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Redis = redis.NewClient(at)
	return s, nil
}

// Observer is the application_name of our own connections to Postgres, by which faults
// leave them alone.
const Observer = "chaos-observer"

// DirectKafka are the options of a client of Kafka that connects past the proxies, to which
// the brokers send everybody.
func (w *World) DirectKafka() []kgo.Opt {
	direct := map[string]string{}
	for _, name := range []string{Kafka, Kafka2} {
		if e := w.Engine(name); e != nil {
			direct[e.Through] = e.Direct
		}
	}
	return w.KafkaClient(kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
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

// RemoveGhosts ends, until ctx does, the memberships of members that are not there. The
// embedded Kafka never notices that a member is gone which ended while it waited for the
// others to join: it would keep its partitions forever. Where a group has had more
// members than there are processes for longer than a session lasts, all of them are sent
// away, and those that live join again. How often that was done is the answer.
func (w *World) RemoveGhosts(ctx context.Context, s *Stores, groups map[string]string) (removed int) {
	if w.Apache() {
		return 0
	}
	const every, waitTimeout = 500 * time.Millisecond, Session + 1500*time.Millisecond
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
			case len(group.Members) <= len(w.Roles(groups[name])):
				delete(since, name)
			case !seen:
				since[name] = time.Now()
			case time.Since(first) > waitTimeout:
				delete(since, name)
				removed++
				w.sendAway(ctx, group)
			}
		}
	}
}

// sendAway ends all memberships of a group.
func (w *World) sendAway(ctx context.Context, group kadm.DescribedGroup) {
	client, err := kgo.NewClient(w.DirectKafka()...)
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
	w.options.Log.Info(
		"members that are not there were removed from a group", "group", group.Group, "members", len(group.Members), "error",
		err,
	)
}
