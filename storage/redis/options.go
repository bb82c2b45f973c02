package redis

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/redisurl"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Limits of the connections.
const (
	dialTimeout = 3 * time.Second
	callTimeout = 3 * time.Second // one read or one write
	// Behind Sentinels, the driver asks one Sentinel for the primary before each connection, and the
	// others only after this one has not responded to two calls within the time of a call. A call is
	// therefore shorter, and the time of a connection covers the calls.
	sentinelCallTimeout = time.Second
	sentinelDialTimeout = dialTimeout + 5*sentinelCallTimeout
)

// Options configures the connection to Redis.
type Options struct {
	// URL is that of package redisurl: redis://user:password@host:6379/0, rediss:// for TLS,
	// redis-sentinel:// or redis-cluster://. Without a user the password is the default user's.
	URL string
	// TLS verifies the servers and Sentinels if TLS is used; nil: with the system's certificates.
	TLS *tlsconfig.Client
	// SentinelUsername and SentinelPassword are the login to the Sentinels; empty: no login.
	SentinelUsername, SentinelPassword string
}

// connect creates the client of the URL. It does not wait for a server.
func (o Options) connect() (*DB, error) {
	useLogger()
	u, err := redisurl.Parse(o.URL)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "the Redis URL %s", err)
	}
	switch u.Mode {
	case redisurl.Sentinel:
		return &DB{client: redis.NewFailoverClient(o.sentinelDriver(&u)), options: o}, nil
	case redisurl.Cluster:
		cluster := redis.NewClusterClient(o.clusterDriver(&u))
		cluster.AddHook(reloadHook{cluster})
		return &DB{client: cluster, cluster: cluster, options: o}, nil
	}
	options, err := o.driver(u.TLS)
	if err != nil {
		return nil, err
	}
	return &DB{client: redis.NewClient(options), options: o}, nil
}

// driver returns the options of a client of one server.
func (o Options) driver(encrypted bool) (*redis.Options, error) {
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
	options.TLSConfig = nil        // the driver's would not read changed certificate files
	options.Dialer = o.dialer(encrypted)
	return options, nil
}

// sentinelDriver returns the options of a client of the primary that Sentinels monitor.
func (o Options) sentinelDriver(u *redisurl.URL) *redis.FailoverOptions {
	return &redis.FailoverOptions{
		MasterName: u.Master, SentinelAddrs: u.Hosts,
		SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
		Username: u.User, Password: u.Password, DB: u.Database,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: sentinelDialTimeout,
		ReadTimeout: sentinelCallTimeout, WriteTimeout: sentinelCallTimeout,
		ContextTimeoutEnabled: true, DisableIdentity: true, Dialer: o.dialer(u.TLS),
	}
}

// clusterDriver returns the options of a client of a Cluster. The driver follows redirections, and
// repeats commands after other errors, except those of type [once].
func (o Options) clusterDriver(u *redisurl.URL) *redis.ClusterOptions {
	return &redis.ClusterOptions{
		Addrs: u.Hosts, Username: u.User, Password: u.Password,
		DialerRetries: 1, DialTimeout: dialTimeout, ReadTimeout: callTimeout, WriteTimeout: callTimeout,
		ContextTimeoutEnabled: true, DisableIdentity: true, Dialer: o.dialer(u.TLS),
		// The policies would require the right for COMMAND. Each command here has its key.
		DisableRoutingPolicies:   true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// dialer returns a function that connects to a server or a Sentinel.
func (o Options) dialer(encrypted bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	files := o.TLS
	if files == nil {
		files = tlsconfig.System()
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if encrypted {
			return files.Dial(ctx, address, dialTimeout)
		}
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
	}
}

// useLogger makes the driver log through slog. Its messages repeat errors that are returned.
var useLogger = sync.OnceFunc(func() { redis.SetLogger(driverLogger{}) })

type driverLogger struct{}

// Printf logs a message of the driver.
func (driverLogger) Printf(ctx context.Context, format string, args ...any) {
	slog.DebugContext(ctx, "driver of Redis", "message", fmt.Sprintf(format, args...))
}
