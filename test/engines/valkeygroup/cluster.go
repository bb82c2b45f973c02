package valkeygroup

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/livegraph/livegraph/internal/embedded/engine"
)

const slots = 16384

// Cluster is a Valkey Cluster.
type Cluster struct {
	group
	// Primaries are the servers that have slots at the start; Replicas[i] are those of Primaries[i].
	Primaries []*Server
	Replicas  [][]*Server
	password  string
	busPort   map[*Server]string
}

// StartCluster starts a Cluster and waits until each server knows the others and serves its slots.
func StartCluster(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{busPort: map[*Server]string{}}
	var err error
	if c.password, err = engine.NewPassword(); err == nil {
		err = c.start(ctx, o)
	}
	if err != nil {
		_ = c.Stop(ctx)
		return nil, fmt.Errorf("starting a Valkey Cluster: %w", err)
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, o Options) error {
	c.Replicas = make([][]*Server, o.Primaries)
	for i := range o.Primaries * (1 + o.Replicas) {
		server, err := c.newServer(o, i)
		if err := c.add(ctx, server, err); err != nil {
			return err
		}
		if err := server.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1); err != nil {
			return err
		}
		if i < o.Primaries {
			c.Primaries = append(c.Primaries, server)
			first, last := i*slots/o.Primaries, (i+1)*slots/o.Primaries-1
			if err := server.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", first, last); err != nil {
				return err
			}
		} else {
			of := i % o.Primaries
			c.Replicas[of] = append(c.Replicas[of], server)
		}
	}
	return c.join(ctx)
}

func (c *Cluster) newServer(o Options, number int) (*Server, error) {
	dir := filepath.Join(o.Dir, "server-"+strconv.Itoa(number))
	return newServer(o.Binary, dir, c.password, func(s *Server) ([]string, error) {
		bus, err := s.port()
		if err != nil {
			return nil, err
		}
		if _, c.busPort[s], err = net.SplitHostPort(bus); err != nil {
			return nil, err
		}
		lines := append(
			serverLines(c.password), "cluster-enabled yes", "cluster-port "+c.busPort[s], "cluster-replica-validity-factor 0",
			fmt.Sprintf("cluster-node-timeout %d", o.DownAfter.Milliseconds()), "cluster-require-full-coverage no",
		)
		if o.Announce != nil {
			_, port, err := net.SplitHostPort(o.Announce(s.Address))
			return append(lines, "cluster-announce-port "+port), err
		}
		return lines, nil
	})
}

// join makes the servers a Cluster.
func (c *Cluster) join(ctx context.Context) error {
	first := c.servers[0]
	for _, s := range c.servers[1:] {
		host, port, err := net.SplitHostPort(s.Address)
		if err != nil {
			return err
		}
		if err := first.Do(ctx, "CLUSTER", "MEET", host, port, c.busPort[s]); err != nil {
			return err
		}
	}
	for _, s := range c.servers {
		err := s.await(ctx, "know the others", func(client *redis.Client) (bool, error) {
			ranges, err := slotRanges(ctx, client)
			return len(ranges) == len(c.Primaries), err
		})
		if err != nil {
			return err
		}
	}
	for i, replicas := range c.Replicas {
		id, err := c.Primaries[i].id(ctx)
		if err != nil {
			return err
		}
		for _, replica := range replicas {
			if err := replica.Do(ctx, "CLUSTER", "REPLICATE", id); err != nil {
				return err
			}
		}
	}
	for _, replicas := range c.Replicas {
		for _, replica := range replicas {
			if err := replica.awaitReplication(ctx); err != nil {
				return err
			}
		}
	}
	return c.AwaitComplete(ctx)
}

// AwaitComplete waits until all servers serve, and all know the replicas of each primary.
func (c *Cluster) AwaitComplete(ctx context.Context) error {
	for _, s := range c.servers {
		err := s.await(ctx, "serve its slots", func(client *redis.Client) (bool, error) {
			ranges, err := slotRanges(ctx, client)
			if err != nil || len(ranges) != len(c.Primaries) {
				return false, err
			}
			for i, r := range ranges {
				if len(r.Nodes) != 1+len(c.Replicas[i]) {
					return false, nil
				}
			}
			info := client.ClusterInfo(ctx)
			return stateOK(info.Val()), info.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// slotRanges returns the slots of each primary with its replicas.
func slotRanges(ctx context.Context, client *redis.Client) ([]redis.ClusterSlot, error) {
	return client.ClusterSlots(ctx).Result() //nolint:staticcheck // it has what tests need
}

// id returns the id of a server in the Cluster.
func (s *Server) id(ctx context.Context) (string, error) {
	c := s.Client()
	defer func() { _ = c.Close() }()
	return c.Do(ctx, "CLUSTER", "MYID").Text()
}

// URL returns redis-cluster://…, with the addresses of two servers: the client finds the others.
func (c *Cluster) URL() string {
	return groupURL("redis-cluster", c.password, "", c.servers[:min(2, len(c.servers))]...)
}

// Client returns a client of the Cluster, which the caller closes.
func (c *Cluster) Client() *redis.ClusterClient {
	o := &redis.ClusterOptions{Password: c.password}
	for _, s := range c.servers {
		o.Addrs = append(o.Addrs, s.Address)
	}
	return redis.NewClusterClient(o)
}

// MoveSlot moves a slot with its keys from one primary to another.
func (c *Cluster) MoveSlot(ctx context.Context, slot int, from, to *Server) error {
	fromID, err := from.id(ctx)
	if err != nil {
		return err
	}
	toID, err := to.id(ctx)
	if err != nil {
		return err
	}
	if err := to.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID); err != nil {
		return err
	}
	if err := from.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID); err != nil {
		return err
	}
	return c.finishMove(ctx, slot, toID, from, to)
}

func (c *Cluster) finishMove(ctx context.Context, slot int, toID string, from, to *Server) error {
	client := from.Client()
	defer func() { _ = client.Close() }()
	keys, err := client.ClusterGetKeysInSlot(ctx, slot, slots).Result()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(to.Address)
	if err != nil {
		return err
	}
	for _, key := range keys {
		args := []any{
			"MIGRATE", host, port, key, 0, callTimeout.Milliseconds(), "AUTH2", user, c.password,
		}
		if err := from.Do(ctx, args...); err != nil {
			return err
		}
	}
	for _, s := range []*Server{to, from} {
		if err := s.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", toID); err != nil {
			return err
		}
	}
	return nil
}

// stateOK reports whether CLUSTER INFO reports that the slots are served.
func stateOK(info string) bool { return strings.Contains(info, "cluster_state:ok") }
