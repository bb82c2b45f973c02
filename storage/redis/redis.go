// Package redis is the store of counters and caches, and carries the replies to
// commands to the processes that wait for them (see [Replies]). It speaks to Redis
// and to Valkey. What is in it may be lost: every number and every cache here can be
// made again, or is only a bound, and a reply is only quicker than to look.
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

// Options say how to reach Redis.
type Options struct {
	// URL is redis://user:password@host:6379/0, or rediss:// for TLS. Without a user
	// the password is the default user's.
	URL string
	// TLS verifies a server that is reached by TLS; nil: as the system does.
	TLS *tlsconfig.Client
}

// DB is a pool of connections to one database of Redis.
type DB struct{ client *redis.Client }

// Open connects to the database that the URL names and checks that it answers. The
// caller closes the DB.
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
		// The parser's message can hold the URL, and with it the password.
		return nil, fault.New(fault.Invalid, "the Redis URL cannot be read")
	}
	// The driver would repeat a command whose answer did not come, and count it twice.
	options.MaxRetries = -1
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = dialTimeout, callTimeout, callTimeout
	options.DialerRetries = 1
	options.ContextTimeoutEnabled = true
	options.DisableIdentity = true // an ACL need not allow CLIENT SETINFO
	encrypted := options.TLSConfig != nil
	options.TLSConfig = nil // the driver's would be of the files as they are now
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

// Ping asks the server for a sign of life.
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

// Info returns what INFO says of the server, by name.
func (db *DB) Info(ctx context.Context) (map[string]string, error) {
	text, err := db.client.Info(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("asking Redis for its state: %w", err)
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
