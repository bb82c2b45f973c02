package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/redisurl"
)

// once is a command that the driver does not repeat after an error that leaves open whether the server has
// executed it. It still follows redirections, after which it was not executed.
type once struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (once) NoRetry() bool { return true }

// reloadHook makes the client of a Cluster read the servers of the slots again after errors. The driver
// does this only when a server redirects it or after a minute, and a killed server redirects nobody.
type reloadHook struct{ cluster *redis.ClusterClient }

// DialHook implements redis.Hook.
func (h reloadHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h reloadHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		h.reloadAfter(ctx, err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h reloadHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		if err != nil {
			for _, command := range commands {
				h.reloadAfter(ctx, command.Err())
			}
		}
		return err
	}
}

// reloadAfter reads the servers of the slots again unless a server has answered and serves the slot.
func (h reloadHook) reloadAfter(ctx context.Context, err error) {
	if answer := redis.Error(nil); err == nil || errors.As(err, &answer) && !redis.IsClusterDownError(err) {
		return
	}
	h.cluster.ReloadState(ctx)
}

// reload reads the servers of the slots of a Cluster again, in the background.
func (db *DB) reload(ctx context.Context) {
	if db.cluster != nil {
		db.cluster.ReloadState(ctx)
	}
}

// eachPrimary calls visit with the server, or with each primary of a Cluster in turn.
func (db *DB) eachPrimary(ctx context.Context, visit func(server *redis.Client) error) error {
	if db.cluster == nil {
		server, ok := db.client.(*redis.Client)
		if !ok {
			return fmt.Errorf("a client of Redis of type %T", db.client)
		}
		return visit(server)
	}
	var mu sync.Mutex
	var primaries []*redis.Client
	err := db.cluster.ForEachMaster(ctx, func(_ context.Context, server *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		primaries = append(primaries, server)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the servers of the Redis Cluster: %w", err)
	}
	if len(primaries) == 0 {
		return errors.New("the Redis Cluster has no server with slots")
	}
	for _, server := range primaries {
		if err := visit(server); err != nil {
			return err
		}
	}
	return nil
}

// slots returns a text that lists the primaries of the slots of a Cluster; without one it is empty.
func (db *DB) slots(ctx context.Context) (string, error) {
	if db.cluster == nil {
		return "", nil
	}
	//nolint:staticcheck // the driver uses the same command; its successor would require one more right
	ranges, err := db.cluster.ClusterSlots(ctx).Result()
	if err != nil {
		return "", fmt.Errorf("reading the slots of the Redis Cluster: %w", err)
	}
	var text strings.Builder
	for _, r := range ranges {
		if len(r.Nodes) > 0 {
			_, _ = fmt.Fprintln(&text, r.Start, r.End, r.Nodes[0].ID)
		}
	}
	return text.String(), nil
}

// location returns " at host:port" for a server of a Cluster.
func (db *DB) location(server *redis.Client) string {
	if db.cluster == nil {
		return ""
	}
	return " at " + server.Options().Addr
}

// check returns an error if no server responds. It returns fault.Invalid if the server is not what the
// URL names.
func (db *DB) check(ctx context.Context) error {
	if db.cluster != nil {
		return explain(db.eachPrimary(ctx, func(*redis.Client) error { return nil }))
	}
	if err := db.Ping(ctx); err != nil {
		return explain(err)
	}
	primaries, err := db.Primaries(ctx)
	if redis.IsPermissionError(err) { // of an ACL user without the right for INFO
		return nil
	}
	if err != nil {
		return err
	}
	switch primaries[0].mode() {
	case "cluster":
		return wrongScheme("is part of a Cluster", redisurl.Cluster)
	case "sentinel":
		return wrongScheme("is a Sentinel", redisurl.Sentinel)
	}
	return nil
}

// wrongScheme returns the error for a server that is not what the scheme of the URL names.
func wrongScheme(is string, right redisurl.Mode) error {
	plain, encrypted := right.Schemes()
	return fault.Newf(
		fault.Invalid, "the server of the Redis URL %s: the URL must begin with %s://, or with %s:// for TLS", is, plain,
		encrypted,
	)
}

// explain returns fault.Invalid for errors of servers that are not what the URL names, and other errors
// unchanged.
func explain(err error) error {
	if err == nil {
		return nil
	}
	switch text := strings.ToLower(err.Error()); {
	case strings.Contains(text, "cluster support disabled"):
		return wrongScheme("is not part of a Cluster", redisurl.Server)
	case strings.Contains(text, "unknown command 'cluster"):
		return wrongScheme("is a Sentinel", redisurl.Sentinel)
	case strings.Contains(text, "unknown command 'sentinel"):
		return wrongScheme("is not a Sentinel", redisurl.Server)
	case strings.Contains(text, "sentinel") && errors.Is(err, redis.Nil):
		return fault.New(
			fault.Invalid, "the Sentinels of the Redis URL monitor no primary with the name in ?master=NAME",
		)
	}
	return err
}
