package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/storage/redis"
)

const redisVariable = "LIVEGRAPH_REDIS_URL"

func checkRedis(ctx context.Context, t Target) []Result {
	if t.RedisURL == "" {
		return missing("redis", redisVariable)
	}
	address := redactURL(t.RedisURL)
	files, err := t.RedisTLS.Client("redis-tls")
	if err != nil {
		return failed("redis", address, err, filesAdvice)
	}
	db, err := redis.Open(ctx, redis.Options{URL: t.RedisURL, TLS: files})
	if err != nil {
		return failed("redis", address, err, redisAdvice(err))
	}
	defer func() { _ = db.Close() }()
	r := Result{Name: "redis", Status: OK, Address: address}
	r.LatencyMS, err = medianLatency(func() error { return db.Ping(ctx) })
	if err == nil {
		r.Version, err = db.ServerVersion(ctx)
	}
	if err != nil {
		return failed("redis", address, err, redisAdvice(err))
	}
	info, err := db.Info(ctx)
	if err != nil {
		return failed("redis", address, err, redisAdvice(err))
	}
	r.readRedis(info)
	return []Result{r}
}

func (r *Result) readRedis(info map[string]string) {
	r.Detail = fmt.Sprintf("%s in memory", info["used_memory_human"])
	if n, err := strconv.ParseInt(info["aof_current_size"], 10, 64); err == nil {
		r.DiskBytes = &n
	}
	if policy := info["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys") {
		r.warn(
			"its maxmemory-policy is "+policy,
			"use noeviction or a volatile policy: counters of rate limits must not be evicted",
		)
	}
	if info["aof_enabled"] == "0" {
		r.warn("its append-only file is off", "turn on appendonly: otherwise a restart loses counters of rate limits")
	}
	if info["loading"] == "1" {
		r.warn("it is loading its data", "wait")
	}
}

// redisAdvice returns the advice for an error.
func redisAdvice(err error) string {
	if advice := tlsSettings(redisVariable).Advice(err); advice != "" {
		return advice
	}
	switch text := err.Error(); {
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"):
		return "correct user and password in " + redisVariable
	case strings.Contains(text, "NOPERM"):
		return "allow that user the commands PING and INFO, and all on its keys"
	case errors.Is(err, io.EOF):
		return "use rediss:// in " + redisVariable + " if the server speaks TLS on that port"
	}
	return reachAdvice(redisVariable, logFile("valkey"))
}
