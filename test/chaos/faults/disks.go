package faults

import (
	"context"
	"math/rand/v2"

	"github.com/livegraph/livegraph/test/chaos/world"
)

// disks are the faults of the engines that have a disk of their own.
func disks(w *world.World) []Fault {
	var all []Fault
	for _, e := range w.Engines() {
		if e.Disk == "" {
			continue
		}
		all = append(all, Fault{Kind: "disk-full/" + e.Name, Lasts: away,
			Inject: func(_ context.Context, dice *rand.Rand) (func(context.Context) error, error) {
				grow, err := e.Fill(dice.Int64N(256 << 10))
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context) error {
					if err := grow(); err != nil {
						return err
					}
					return e.WaitReady(ctx)
				}, nil
			}})
	}
	return all
}
