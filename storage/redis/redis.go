// Package redis stores counters and caches, and sends the replies to commands to the processes that
// wait for them (see [Replies]). It supports Redis and Valkey: one server, a primary with replicas behind
// Sentinels, and a Cluster. The data may be lost: caches can be rebuilt, counters only enforce limits, and
// a reply only saves a query of the stored result.
//
// Each command uses one key, so that a Cluster can place the keys on any of its primaries.
package redis

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// DB is a pool of connections to one database of Redis.
type DB struct {
	client  redis.UniversalClient
	cluster *redis.ClusterClient // the client if it is that of a Cluster, otherwise nil
	options Options
}

// Open connects to the database of the URL and checks that it responds and is what the URL names. Of a
// Cluster one server must respond. The caller must close the DB.
func Open(ctx context.Context, o Options) (*DB, error) {
	db, err := o.connect()
	if err != nil {
		return nil, err
	}
	if err := db.check(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// Ping returns an error if the server does not respond, or one of the primaries of a Cluster.
func (db *DB) Ping(ctx context.Context) error {
	return db.eachPrimary(ctx, func(server *redis.Client) error {
		if err := server.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("pinging Redis%s: %w", db.location(server), err)
		}
		return nil
	})
}

// Primary is a server that stores keys, not a replica.
type Primary struct {
	Address string            // host:port; empty unless it is part of a Cluster
	Info    map[string]string // fields of the INFO command
}

// Version returns the version of the server, such as "Valkey 9.1.2" or "Redis 8.2.1".
func (p *Primary) Version() string {
	if version := p.Info["valkey_version"]; version != "" {
		return "Valkey " + version
	}
	return "Redis " + p.Info["redis_version"]
}

// mode returns standalone, sentinel or cluster.
func (p *Primary) mode() string { return cmp.Or(p.Info["redis_mode"], p.Info["server_mode"]) }

// Primaries returns the server, or each primary of a Cluster, with its INFO.
func (db *DB) Primaries(ctx context.Context) (primaries []Primary, err error) {
	err = db.eachPrimary(ctx, func(server *redis.Client) error {
		text, err := server.Info(ctx).Result()
		if err != nil {
			return fmt.Errorf("reading INFO of Redis%s: %w", db.location(server), err)
		}
		p := Primary{Info: map[string]string{}}
		if db.cluster != nil {
			p.Address = server.Options().Addr
		}
		for line := range strings.Lines(text) {
			if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
				p.Info[name] = value
			}
		}
		primaries = append(primaries, p)
		return nil
	})
	return primaries, err
}

// Server returns the address of the server that counts the requests of a workspace. Without a Cluster,
// where one server counts all, it returns "".
func (db *DB) Server(ctx context.Context, workspace uuid.UUID) string {
	if db.cluster == nil {
		return ""
	}
	server, err := db.cluster.MasterForKey(ctx, requestsKey+workspace.String())
	if err != nil {
		return ""
	}
	return server.Options().Addr
}

// Close closes the connections.
func (db *DB) Close() error { return db.client.Close() }
