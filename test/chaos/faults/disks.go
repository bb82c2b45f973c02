package faults

import (
	"context"
	"math/rand/v2"

	"github.com/livegraph/livegraph/test/chaos/world"
)

// disks are the faults of what has its own disk.
func disks(w *world.World) []Fault {
	var all []Fault
	full := func(kind string, disk world.Disk, ready func(context.Context) error) {
		if disk == "" {
			return
		}
		all = append(all, Fault{Kind: "disk-full/" + kind, Lasts: away,
			Inject: func(_ context.Context, dice *rand.Rand) (func(context.Context) error, error) {
				grow, err := disk.Fill(dice.Int64N(256 << 10))
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context) error {
					if err := grow(); err != nil {
						return err
					}
					return ready(ctx)
				}, nil
			}})
	}
	for _, e := range w.Engines() {
		full(e.Name, e.Disk, e.WaitReady)
	}
	for _, r := range w.Roles("") {
		full(r.Name, r.Disk, r.WaitReady)
	}
	return all
}
