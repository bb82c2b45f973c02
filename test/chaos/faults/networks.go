package faults

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/livegraph/livegraph/test/chaos/environment"
	"github.com/livegraph/livegraph/test/chaos/proxy"
)

// networkFaults returns the faults of the connections to each engine.
func networkFaults(env *environment.Environment) []Fault {
	share := func(dice *rand.Rand) float64 { return []float64{0, 0, 0.3, 0.6}[dice.IntN(4)] }
	kinds := []struct {
		name  string
		lasts func(*rand.Rand) time.Duration
		rule  func(*rand.Rand) proxy.Rule
	}{
		{"refused", outage, func(dice *rand.Rand) proxy.Rule { return proxy.Rule{Refuse: true, Share: share(dice)} }},
		{"silent", pauseLength, func(dice *rand.Rand) proxy.Rule { return proxy.Rule{Silent: true, Share: share(dice)} }},
		{"latency", between(time.Second, 4*time.Second), func(dice *rand.Rand) proxy.Rule {
			return proxy.Rule{Latency: between(5*time.Millisecond, 400*time.Millisecond)(dice), Share: share(dice)}
		}},
		{"trickle", between(time.Second, 4*time.Second), func(dice *rand.Rand) proxy.Rule {
			return proxy.Rule{BytesPerSecond: []int{1, 100, 10_000}[dice.IntN(3)], Share: share(dice)}
		}},
		{"cut-request", outage, func(dice *rand.Rand) proxy.Rule {
			return proxy.Rule{Cut: proxy.Cut{Chance: 0.05 + dice.Float64()/2, Direction: proxy.Request, After: dice.IntN(2000)}}
		}},
		{"cut-answer", outage, func(dice *rand.Rand) proxy.Rule {
			return proxy.Rule{
				Cut: proxy.Cut{Chance: 0.05 + dice.Float64()/2, Direction: proxy.Answer, After: dice.IntN(400) - 200},
			}
		}},
	}
	var all []Fault
	for _, e := range env.Engines() {
		for _, kind := range kinds {
			all = append(all, Fault{Kind: kind.name + "/" + e.Name, Lasts: kind.lasts,
				Inject: func(_ context.Context, dice *rand.Rand) (func(context.Context) error, error) {
					return healWith(e.Proxy.Apply(kind.rule(dice))), nil
				}})
		}
		all = append(all, Fault{Kind: "cut-all/" + e.Name, Lasts: instant,
			Inject: func(context.Context, *rand.Rand) (func(context.Context) error, error) {
				e.Proxy.CutAll()
				return noHeal, nil
			}})
	}
	return all
}
