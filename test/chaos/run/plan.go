package run

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/livegraph/livegraph/test/chaos/faults"
)

// seldomInterval is the number of passes through all kinds in which a seldom kind occurs once.
const seldomInterval = 4

// defaultSpacing is the average time between the starts of two faults of a round.
const defaultSpacing = 500 * time.Millisecond

// plan chooses faults so that each kind occurs equally often: all of them in random order, then all
// again. The choice is determined by the seed.
type plan struct {
	kinds   []faults.Fault
	dice    *rand.Rand
	queue   []faults.Fault
	passes  int
	spacing time.Duration
}

// plannedFault is a fault, its start in the round, and its random number generator.
type plannedFault struct {
	faults.Fault
	after time.Duration
	dice  *rand.Rand
}

func newPlan(kinds []faults.Fault, seed uint64, spacing time.Duration) *plan {
	return &plan{kinds: kinds, dice: rand.New(rand.NewPCG(seed, 1)), spacing: cmp.Or(spacing, defaultSpacing)}
}

// next returns the faults of a round.
func (p *plan) next(n int) []plannedFault {
	var round []plannedFault
	for range n {
		round = append(round, plannedFault{
			Fault: p.pop(), after: time.Duration(p.dice.Int64N(int64(n) * int64(p.spacing))),
			dice: rand.New(rand.NewPCG(p.dice.Uint64(), 2)),
		})
	}
	return round
}

func (p *plan) pop() faults.Fault {
	for len(p.queue) == 0 {
		for _, f := range p.kinds {
			if !f.Seldom || p.passes%seldomInterval == 0 || len(p.kinds) == 1 {
				p.queue = append(p.queue, f)
			}
		}
		p.passes++
		p.dice.Shuffle(len(p.queue), func(i, j int) { p.queue[i], p.queue[j] = p.queue[j], p.queue[i] })
	}
	f := p.queue[0]
	p.queue = slices.Clone(p.queue[1:])
	return f
}
