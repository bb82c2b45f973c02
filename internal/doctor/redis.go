package doctor

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

func checkRedis(ctx context.Context, t Target) []Result {
	if t.RedisURL == "" {
		return missing("redis", "LIVEGRAPH_REDIS_URL")
	}
	address := shown(t.RedisURL)
	options, err := redis.ParseURL(t.RedisURL)
	if err != nil {
		return failed("redis", address, withoutSecret(err, t.RedisURL), "correct LIVEGRAPH_REDIS_URL")
	}
	options.MaxRetries = -1
	if err := dial(ctx, options.Addr); err != nil {
		return failed("redis", address, err, redisAdvice(err))
	}
	client := redis.NewClient(options)
	defer client.Close()
	r := Result{Name: "redis", Status: OK, Address: address}
	r.LatencyMS, err = latency(func() error { return client.Ping(ctx).Err() })
	if err != nil {
		return failed("redis", address, err, redisAdvice(err))
	}
	text, err := client.Info(ctx).Result()
	if err != nil {
		return failed("redis", address, err, redisAdvice(err))
	}
	r.readRedis(redisInfo(text))
	return []Result{r}
}

func (r *Result) readRedis(info map[string]string) {
	r.Version = "Redis " + info["redis_version"]
	if v := info["valkey_version"]; v != "" {
		r.Version = "Valkey " + v
	}
	r.Detail = fmt.Sprintf("%s in memory", info["used_memory_human"])
	if n, err := strconv.ParseInt(info["aof_current_size"], 10, 64); err == nil {
		r.DiskBytes = &n
	}
	if policy := info["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys") {
		r.warn("its maxmemory-policy is "+policy, "use noeviction or a volatile policy: counters of rate limits must not be evicted")
	}
	if info["aof_enabled"] == "0" {
		r.warn("its append-only file is off", "turn on appendonly: else a restart forgets counters of rate limits")
	}
	if info["loading"] == "1" {
		r.warn("it loads its data", "wait")
	}
}

// redisInfo reads the lines name:value of INFO.
func redisInfo(text string) map[string]string {
	info := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// redisAdvice says what to do about a failure.
func redisAdvice(err error) string {
	if text := err.Error(); strings.HasPrefix(text, "NOAUTH") || strings.HasPrefix(text, "WRONGPASS") {
		return "correct the password in LIVEGRAPH_REDIS_URL"
	}
	return reachAdvice("LIVEGRAPH_REDIS_URL", "valkey.log")
}
