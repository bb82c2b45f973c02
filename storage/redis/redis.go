// Package redis stores counters and caches, and sends the replies to commands to the processes that
// wait for them (see [Replies]). It supports Redis and Valkey. The data may be lost: caches can be
// rebuilt, counters only enforce limits, and a reply only saves a query of the stored result.
package redis

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Limits of the connections.
const (
	dialTimeout = 3 * time.Second
	callTimeout = 3 * time.Second // one read or one write
)

// Options configures the connection to Redis.
type Options struct {
	// URL is redis://user:password@host:6379/0, or rediss:// for TLS. Without a user
	// the password is the default user's.
	URL string
	// TLS verifies the server if TLS is used; nil: with the system's certificates.
	TLS *tlsconfig.Client
}

// DB is a pool of connections to one database of Redis.
type DB struct{ client *redis.Client }

// Open connects to the database of the URL and checks that it responds. The caller must close the DB.
func Open(ctx context.Context, o Options) (*DB, error) {
	options, err := o.driver()
	if err != nil {
		return nil, err
	}
	db := &DB{redis.NewClient(options)}
	if err := db.Ping(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func (o Options) driver() (*redis.Options, error) {
	options, err := redis.ParseURL(o.URL)
	if err != nil {
		// The parser's message may contain the URL with the password.
		return nil, fault.New(fault.Invalid, "the Redis URL is not valid")
	}
	// The driver would retry a command without a response, which could count a request twice.
	options.MaxRetries = -1
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = dialTimeout, callTimeout, callTimeout
	options.DialerRetries = 1
	options.ContextTimeoutEnabled = true
	options.DisableIdentity = true // so that ACLs need not allow CLIENT SETINFO
	encrypted := options.TLSConfig != nil
	options.TLSConfig = nil // the driver's would not read changed certificate files
	files := o.TLS
	if files == nil {
		files = tlsconfig.System()
	}
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		if encrypted {
			return files.Dial(ctx, address, dialTimeout)
		}
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
	}
	return options, nil
}

// Ping returns an error if the server does not respond.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("pinging Redis: %w", err)
	}
	return nil
}

// ServerVersion returns the server's version, such as "Valkey 9.1.2" or "Redis 8.2.1".
func (db *DB) ServerVersion(ctx context.Context) (string, error) {
	info, err := db.Info(ctx)
	if err != nil {
		return "", err
	}
	if version := info["valkey_version"]; version != "" {
		return "Valkey " + version, nil
	}
	return "Redis " + info["redis_version"], nil
}

// Info returns the fields of the server's INFO command.
func (db *DB) Info(ctx context.Context) (map[string]string, error) {
	text, err := db.client.Info(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("reading INFO of Redis: %w", err)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[name] = value
		}
	}
	return info, nil
}

// Close closes the connections.
func (db *DB) Close() error { return db.client.Close() }
