package faults

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/livegraph/livegraph/test/chaos/world"
)

// usualMemory and usualPolicy are those of the embedded edition.
const (
	usualMemory = "256mb"
	usualPolicy = "volatile-lru"
)

// redises are the faults that only Redis can have.
func redises(w *world.World, s *world.Stores) []Fault {
	e := w.Engine(world.Redis)
	return []Fault{
		{Kind: "flushed/redis", Lasts: moment, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return nothing, s.Redis.FlushAll(ctx).Err()
		}},
		{Kind: "emptied/redis", Lasts: moment, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			return e.WaitReady, e.Restart(ctx, func() error { return os.RemoveAll(filepath.Join(e.Dir, "appendonlydir")) })
		}},
		{Kind: "stalled/redis", Lasts: moment, Inject: func(
			ctx context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			stall := between(200*time.Millisecond, 3*time.Second)(dice)
			return nothing, s.Redis.Do(ctx, "CLIENT", "PAUSE", stall.Milliseconds()).Err()
		}},
		{Kind: "full/redis", Lasts: away, Inject: func(ctx context.Context, _ *rand.Rand) (
			func(context.Context) error, error,
		) {
			heal := func(ctx context.Context) error {
				return insist(ctx, func(ctx context.Context) error {
					if err := s.Redis.ConfigSet(ctx, "maxmemory", usualMemory).Err(); err != nil {
						return err
					}
					return s.Redis.ConfigSet(ctx, "maxmemory-policy", usualPolicy).Err()
				})
			}
			if err := s.Redis.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(); err != nil {
				return heal, err
			}
			return heal, s.Redis.ConfigSet(ctx, "maxmemory", "1").Err()
		}},
	}
}
