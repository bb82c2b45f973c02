package faults

import (
	"context"
	"math/rand/v2"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// diskFaults returns the faults of engines and processes that have a disk.
func diskFaults(env *environment.Environment) []Fault {
	var all []Fault
	full := func(kind string, disk environment.Disk, ready func(context.Context) error) {
		if disk == "" {
			return
		}
		all = append(all, Fault{Kind: "disk-full/" + kind, Lasts: outage,
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
	for _, e := range env.Engines() {
		full(e.Name, e.Disk, e.WaitReady)
	}
	for _, r := range env.Roles("") {
		full(r.Name, r.Disk, r.WaitReady)
	}
	return all
}
