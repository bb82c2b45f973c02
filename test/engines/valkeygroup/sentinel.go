package valkeygroup

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/livegraph/livegraph/internal/embedded/engine"
)

const (
	master    = "main" // name of the primary
	sentinels = 3
	quorum    = 2
)

// Options are the options of a group.
type Options struct {
	Binary string // of valkey-server
	Dir    string // for the data of all servers
	// DownAfter is the time after which a server that does not respond counts as down.
	DownAfter time.Duration
	// Replicas is the number of replicas of each primary.
	Replicas int
	// Primaries is the number of primaries of a Cluster.
	Primaries int
	// Announce returns the address of a server of a Cluster that clients are sent to; nil: its own.
	Announce func(address string) string
}

// Sentinels are a primary, its replicas and three Sentinels.
type Sentinels struct {
	group
	// Servers are the first primary and its replicas.
	Servers   []*Server
	Sentinels []*Server
	// SentinelPassword is the password of the Sentinels, which differs from that of the servers.
	SentinelPassword string
	// Name is the name of the primary.
	Name     string
	password string
}

// StartSentinels starts a primary, its replicas and three Sentinels, and waits until they know each other.
func StartSentinels(ctx context.Context, o Options) (*Sentinels, error) {
	s := &Sentinels{Name: master}
	var err error
	if s.password, err = engine.NewPassword(); err == nil {
		s.SentinelPassword, err = engine.NewPassword()
	}
	if err == nil {
		err = s.start(ctx, o)
	}
	if err != nil {
		_ = s.Stop(ctx)
		return nil, fmt.Errorf("starting Valkey with Sentinels: %w", err)
	}
	return s, nil
}

func (s *Sentinels) start(ctx context.Context, o Options) error {
	for i := range 1 + o.Replicas {
		server, err := newServer(
			o.Binary, filepath.Join(o.Dir, "server-"+strconv.Itoa(i)), s.password,
			func(*Server) ([]string, error) {
				lines := serverLines(s.password)
				if i > 0 {
					host, port, err := net.SplitHostPort(s.Servers[0].Address)
					return append(lines, "replicaof "+host+" "+port), err
				}
				return lines, nil
			},
		)
		if err := s.add(ctx, server, err); err != nil {
			return err
		}
		s.Servers = append(s.Servers, server)
	}
	for _, replica := range s.Servers[1:] {
		if err := replica.awaitReplication(ctx); err != nil {
			return err
		}
	}
	host, port, err := net.SplitHostPort(s.Servers[0].Address)
	if err != nil {
		return err
	}
	for i := range sentinels {
		sentinel, err := newServer(
			o.Binary, filepath.Join(o.Dir, "sentinel-"+strconv.Itoa(i)), s.SentinelPassword,
			func(server *Server) ([]string, error) {
				server.sentinel = true
				return []string{
					fmt.Sprintf("sentinel monitor %s %s %s %d", master, host, port, quorum),
					fmt.Sprintf("sentinel auth-pass %s %s", master, s.password),
					fmt.Sprintf("sentinel down-after-milliseconds %s %d", master, o.DownAfter.Milliseconds()),
					fmt.Sprintf("sentinel failover-timeout %s %d", master, 2*o.DownAfter.Milliseconds()),
					"sentinel sentinel-pass " + s.SentinelPassword,
				}, nil
			},
		)
		if err := s.add(ctx, sentinel, err); err != nil {
			return err
		}
		s.Sentinels = append(s.Sentinels, sentinel)
	}
	return s.AwaitComplete(ctx, o.Replicas)
}

// AwaitComplete waits until each Sentinel knows the other ones and the replicas.
func (s *Sentinels) AwaitComplete(ctx context.Context, replicas int) error {
	for _, sentinel := range s.Sentinels {
		err := sentinel.await(ctx, "know the others", func(c *redis.Client) (bool, error) {
			known, err := c.Do(ctx, "SENTINEL", "MASTER", master).Result()
			if err != nil {
				return false, err
			}
			fields := stringMap(known)
			return fields["num-other-sentinels"] == strconv.Itoa(sentinels-1) &&
				fields["num-slaves"] == strconv.Itoa(replicas), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// URL returns redis-sentinel://….
func (s *Sentinels) URL() string { return s.URLWith(s.Sentinels...) }

// URLWith is URL with some of the Sentinels.
func (s *Sentinels) URLWith(some ...*Server) string {
	return groupURL("redis-sentinel", s.password, "/0?master="+master, some...)
}

// Primary returns the current primary, or nil while the Sentinels do not know one of the servers.
func (s *Sentinels) Primary(ctx context.Context) *Server {
	for _, sentinel := range s.Sentinels {
		c := sentinel.Client()
		address, err := c.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", master).StringSlice()
		_ = c.Close()
		if err != nil || len(address) != 2 {
			continue
		}
		for _, server := range s.Servers {
			if server.Address == net.JoinHostPort(address[0], address[1]) {
				return server
			}
		}
	}
	return nil
}

// serverLines returns the configuration of a server that can become primary or replica.
func serverLines(password string) []string {
	return []string{
		"primaryauth " + password, "appendonly yes", "save \"\"", "repl-diskless-sync-delay 0",
		"maxmemory-policy volatile-lru", "maxmemory 64mb",
	}
}

// awaitReplication waits until a replica has the data of its primary.
func (s *Server) awaitReplication(ctx context.Context) error {
	return s.await(ctx, "replicate", func(c *redis.Client) (bool, error) {
		fields := c.InfoMap(ctx, "replication")
		return fields.Item("Replication", "master_link_status") == "up", fields.Err()
	})
}

// stringMap returns the fields of a reply, which is a map or a list of names and values.
func stringMap(reply any) map[string]string {
	fields := map[string]string{}
	switch reply := reply.(type) {
	case map[any]any:
		for name, value := range reply {
			fields[fmt.Sprint(name)] = fmt.Sprint(value)
		}
	case []any:
		for i := 0; i+1 < len(reply); i += 2 {
			fields[fmt.Sprint(reply[i])] = fmt.Sprint(reply[i+1])
		}
	}
	return fields
}
