package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/bytesize"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/internal/platform/redisurl"
	"github.com/livegraph/livegraph/storage/redis"
)

const redisVariable = "LIVEGRAPH_REDIS_URL"

func checkRedis(ctx context.Context, t Target) []Result {
	if t.RedisURL == "" {
		return missing("redis", redisVariable)
	}
	address := redisAddress(t.RedisURL)
	files, err := t.RedisTLS.Client("redis-tls")
	if err != nil {
		return failed("redis", address, err, filesAdvice)
	}
	db, err := redis.Open(ctx, redis.Options{
		URL: t.RedisURL, TLS: files,
		SentinelUsername: t.RedisSentinel.Username, SentinelPassword: t.RedisSentinel.Password.Reveal(),
	})
	if err != nil {
		return failed("redis", address, err, redisAdvice(err))
	}
	defer func() { _ = db.Close() }()
	r := Result{Name: "redis", Status: OK, Address: address}
	if r.LatencyMS, err = medianLatency(func() error { return db.Ping(ctx) }); err != nil {
		return failed("redis", address, err, redisAdvice(err))
	}
	primaries, err := db.Primaries(ctx)
	if err != nil {
		return failed("redis", address, err, redisAdvice(err))
	}
	r.Version = primaries[0].Version()
	r.readRedis(primaries)
	return []Result{r}
}

// readRedis sets what INFO of the server, or of each primary of a Cluster, reports.
func (r *Result) readRedis(primaries []redis.Primary) {
	var memory, disk int64
	for _, p := range primaries {
		if n, err := strconv.ParseInt(p.Info["used_memory"], 10, 64); err == nil {
			memory += n
		}
		if n, err := strconv.ParseInt(p.Info["aof_current_size"], 10, 64); err == nil {
			disk += n
			r.DiskBytes = &disk
		}
	}
	r.Detail = bytesize.Format(memory) + " in memory"
	if primaries[0].Address != "" {
		r.Detail = plural.CountOf(len(primaries), "primary", "primaries") + " of a Cluster, " + r.Detail
	}
	for _, w := range redisWarnings {
		var affected []string
		for _, p := range primaries {
			if w.applies(p) {
				affected = append(affected, cmp.Or(p.Address, "it"))
			}
		}
		if len(affected) > 0 {
			r.warn(strings.Join(affected, ", ")+": "+w.detail, w.advice)
		}
	}
}

// redisWarnings are what INFO of a server may report.
var redisWarnings = []struct {
	applies        func(p redis.Primary) bool
	detail, advice string
}{
	{
		func(p redis.Primary) bool { return strings.HasPrefix(p.Info["maxmemory_policy"], "allkeys") },
		"maxmemory-policy evicts all kinds of keys",
		"use noeviction or a volatile policy: counters of rate limits must not be evicted",
	},
	{
		func(p redis.Primary) bool { return p.Info["aof_enabled"] == "0" },
		"the append-only file is off", "turn on appendonly: otherwise a restart loses counters of rate limits",
	},
	{func(p redis.Primary) bool { return p.Info["loading"] == "1" }, "loading its data", "wait"},
	{
		func(p redis.Primary) bool { return p.Info["role"] == "slave" },
		"is a replica, which accepts no writes",
		"name the primary in " + redisVariable + ", or the Sentinels as redis-sentinel://",
	},
	{
		func(p redis.Primary) bool { return p.Address != "" && p.Info["connected_slaves"] == "0" },
		"no replica is connected",
		"add one: while a primary without a replica is unavailable, each process enforces the limits of its workspaces " +
			"by itself",
	},
}

// redisAddress returns the URL without the login.
func redisAddress(address string) string {
	u, err := redisurl.Parse(address)
	if err != nil || u.Mode == redisurl.Server {
		return redactURL(address)
	}
	scheme, _, _ := strings.Cut(address, "://")
	redacted := scheme + "://" + strings.Join(u.Hosts, ",")
	if u.Mode == redisurl.Sentinel {
		redacted += fmt.Sprintf("/%d?master=%s", u.Database, url.QueryEscape(u.Master))
	}
	return redacted
}

// redisAdvice returns the advice for an error.
func redisAdvice(err error) string {
	if advice := tlsSettings(redisVariable).Advice(err); advice != "" {
		return advice
	}
	switch text := err.Error(); {
	case fault.Is(err, fault.Invalid):
		return "correct " + redisVariable
	case strings.Contains(text, "sentinel") && (strings.Contains(text, "NOAUTH") || strings.Contains(text, "WRONGPASS")):
		return "correct LIVEGRAPH_REDIS_SENTINEL_USERNAME and LIVEGRAPH_REDIS_SENTINEL_PASSWORD"
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"):
		return "correct user and password in " + redisVariable
	case strings.Contains(text, "NOPERM"):
		return "allow that user the commands PING and INFO, in a Cluster CLUSTER SLOTS, and all on its keys"
	case errors.Is(err, io.EOF):
		return "use rediss:// in " + redisVariable + " if the server speaks TLS on that port"
	}
	return reachAdvice(redisVariable, logFile("valkey"))
}
