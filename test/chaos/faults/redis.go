package faults

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// defaultMemory and defaultPolicy are the settings of the embedded edition.
const (
	defaultMemory = "256mb"
	defaultPolicy = "volatile-lru"
)

// redisFaults returns the faults that are specific to Redis.
func redisFaults(env *environment.Environment, s *environment.Stores) []Fault {
	e := env.Engine(environment.Redis)
	return []Fault{
		{Kind: "flushed/redis", Lasts: instant, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return noHeal, s.Redis.FlushAll(ctx).Err()
		}},
		{Kind: "emptied/redis", Lasts: instant, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return e.WaitReady, e.Restart(ctx, func() error { return os.RemoveAll(filepath.Join(e.Dir, "appendonlydir")) })
		}},
		{Kind: "stalled/redis", Lasts: instant, Inject: func(
			ctx context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			stall := between(200*time.Millisecond, 3*time.Second)(dice)
			return noHeal, s.Redis.Do(ctx, "CLIENT", "PAUSE", stall.Milliseconds()).Err()
		}},
		{Kind: "full/redis", Lasts: outage, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			heal := func(ctx context.Context) error {
				return retry(ctx, func(ctx context.Context) error {
					if err := s.Redis.ConfigSet(ctx, "maxmemory", defaultMemory).Err(); err != nil {
						return err
					}
					return s.Redis.ConfigSet(ctx, "maxmemory-policy", defaultPolicy).Err()
				})
			}
			if err := s.Redis.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(); err != nil {
				return heal, err
			}
			return heal, s.Redis.ConfigSet(ctx, "maxmemory", "1").Err()
		}},
	}
}
