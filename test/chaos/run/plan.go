package run

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/livegraph/livegraph/test/chaos/faults"
)

// seldomOnce is in how many rounds through all kinds a seldom one comes once.
const seldomOnce = 4

// defaultApart is how far apart the faults of a round begin, on average.
const defaultApart = 500 * time.Millisecond

// plan deals faults so that each kind comes as often as any other: all of them in
// random order, then all again. What it deals follows from the seed alone.
type plan struct {
	kinds []faults.Fault
	dice  *rand.Rand
	deck  []faults.Fault
	dealt int
	apart time.Duration
}

// planned is a fault with when it is to begin, and its own chance.
type planned struct {
	faults.Fault
	after time.Duration
	dice  *rand.Rand
}

func newPlan(kinds []faults.Fault, seed uint64, apart time.Duration) *plan {
	return &plan{kinds: kinds, dice: rand.New(rand.NewPCG(seed, 1)), apart: cmp.Or(apart, defaultApart)}
}

// next deals the faults of a round.
func (p *plan) next(n int) []planned {
	var round []planned
	for range n {
		round = append(round, planned{
			Fault: p.draw(), after: time.Duration(p.dice.Int64N(int64(n) * int64(p.apart))),
			dice: rand.New(rand.NewPCG(p.dice.Uint64(), 2)),
		})
	}
	return round
}

func (p *plan) draw() faults.Fault {
	for len(p.deck) == 0 {
		for _, f := range p.kinds {
			if !f.Seldom || p.dealt%seldomOnce == 0 || len(p.kinds) == 1 {
				p.deck = append(p.deck, f)
			}
		}
		p.dealt++
		p.dice.Shuffle(len(p.deck), func(i, j int) { p.deck[i], p.deck[j] = p.deck[j], p.deck[i] })
	}
	f := p.deck[0]
	p.deck = slices.Clone(p.deck[1:])
	return f
}
