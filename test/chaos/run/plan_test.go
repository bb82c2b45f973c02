package run

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/faults"
)

func someKinds(often, seldom int) (kinds []faults.Fault) {
	for i := range often {
		kinds = append(kinds, faults.Fault{Kind: fmt.Sprintf("often/%d", i)})
	}
	for i := range seldom {
		kinds = append(kinds, faults.Fault{Kind: fmt.Sprintf("seldom/%d", i), Seldom: true})
	}
	return kinds
}

// planRounds returns the kinds of some rounds, their starts, and a random number of each.
func planRounds(seed uint64, rounds int) (kinds []string, after []time.Duration, chances []uint64) {
	p := newPlan(someKinds(7, 2), seed, 0)
	for range rounds {
		for _, f := range p.next(4) {
			kinds, after, chances = append(kinds, f.Kind), append(after, f.after), append(chances, f.dice.Uint64())
		}
	}
	return kinds, after, chances
}

func TestTheSameSeedDealsTheSameFaults(t *testing.T) {
	kinds, after, chances := planRounds(3, 20)
	again, afterAgain, chancesAgain := planRounds(3, 20)
	require.Equal(t, kinds, again)
	require.Equal(t, after, afterAgain)
	require.Equal(t, chances, chancesAgain)
	different, _, _ := planRounds(4, 20)
	require.NotEqual(t, kinds, different)
}

func TestEachKindComesAsOftenAsAnyOther(t *testing.T) {
	const passes = 2 * seldomInterval
	p := newPlan(someKinds(5, 1), 1, 0)
	times := map[string]int{}
	for range passes*5 + 2 {
		times[p.pop().Kind]++
	}
	for i := range 5 {
		require.Equal(t, passes, times[fmt.Sprintf("often/%d", i)])
	}
	require.Equal(t, passes/seldomInterval, times["seldom/0"])
}

func TestARunIsAddedUpAndReadAgain(t *testing.T) {
	rounds := []Round{
		{Faults: []Injected{{Kind: "kill/api"}, {Kind: "kill/api", Missed: "it was away"}}, Settle: 30},
		{Faults: []Injected{{Kind: "latency/redis"}}, Settle: 10, Violations: []Violation{{Invariant: 1}}},
		{Faults: []Injected{{Kind: "kill/redis"}}, Settle: 20},
	}
	sum := summarize(rounds, time.Minute)
	require.Equal(t, Summary{
		Rounds: 3, Faults: 3, Missed: 1, ByKind: map[string]int{"kill/api": 1, "kill/redis": 1, "latency/redis": 1},
		Kills: 2, Settlings: 3, SettleP50: 20, SettleMax: 30, Seconds: 60, Violations: 1,
	}, sum)
	var log bytes.Buffer
	require.NoError(t, write(&log, Line{Round: &rounds[0]}))
	require.NoError(t, write(&log, Line{Summary: &sum}))
	lines, err := Read(&log)
	require.NoError(t, err)
	require.Equal(t, rounds[0].Faults, lines[0].Round.Faults)
	require.Equal(t, &sum, lines[1].Summary)
}
