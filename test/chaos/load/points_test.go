package load

import (
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// invariants returns the numbers of the violated invariants.
func invariants(found []Violation) []int {
	list := []int{}
	for _, v := range found {
		list = append(list, v.Invariant)
	}
	return list
}

// requireFound requires a violation of an invariant whose description contains what.
func requireFound(t *testing.T, found []Violation, invariant int, what string) {
	t.Helper()
	for _, v := range found {
		if v.Invariant == invariant {
			require.Contains(t, v.What, what)
			return
		}
	}
	t.Fatalf("no violation of invariant %d: %v", invariant, found)
}

func TestTheLastAcceptedValueIsTheOneThatIsAllowed(t *testing.T) {
	r := newRegister()
	require.True(t, r.allows(absent()))
	r.begin(1, 10, 1)
	require.True(t, r.allows(absent()), "it may not be there yet")
	require.True(t, r.allows(10))
	r.acknowledge(1, 2, false)
	require.False(t, r.allows(absent()))
	r.begin(2, 20, 3)
	require.Equal(t, []float64{10, 20}, r.allowed())
	r.acknowledge(2, 4, false)
	require.Equal(t, []float64{20}, r.allowed())
}

func TestOfConcurrentWritesEitherMayBeLast(t *testing.T) {
	r := newRegister()
	r.begin(1, 10, 1)
	r.begin(2, 20, 2)
	r.acknowledge(1, 3, false)
	r.acknowledge(2, 4, false)
	require.ElementsMatch(t, []float64{10, 20}, r.allowed())
	r.begin(3, 30, 5)
	r.acknowledge(3, 6, false)
	require.Equal(t, []float64{30}, r.allowed())
}

func TestAWriteWithoutAnAnswerMayComeLater(t *testing.T) {
	r := newRegister()
	r.begin(1, 10, 1) // never answered
	r.begin(2, 20, 2)
	r.acknowledge(2, 3, false)
	require.ElementsMatch(t, []float64{10, 20}, r.allowed())
	r.begin(3, absent(), 4) // a deletion
	r.acknowledge(3, 5, false)
	require.True(t, r.allows(absent()))
	require.True(t, r.allows(10))
	require.False(t, r.allows(20))
	r.settle(10)
	require.Equal(t, []float64{10}, r.allowed())
}

func TestARetryThatIsAnsweredLeavesItsFirstTryOnItsWay(t *testing.T) {
	r := newRegister()
	r.begin(1, 10, 1)
	r.acknowledge(1, 2, true)
	require.False(t, r.allows(absent()))
	r.begin(2, 20, 3)
	r.acknowledge(2, 4, false)
	require.ElementsMatch(t, []float64{10, 20}, r.allowed())
}

func TestARefusedWriteIsNeverAllowed(t *testing.T) {
	r := newRegister()
	r.begin(1, 10, 1)
	r.refuse(1)
	require.False(t, r.allows(10))
	require.True(t, r.allows(absent()))
}

// aSource returns a source with ten points at 1..10 and the values 101..110, of which the last was
// not answered and one was deleted.
func aSource() (*source, []pointRow) {
	s := newSource(uuid.New(), "pump", rows, 1)
	series := seriesRow{id: 7, metric: "m0"}
	var stored []pointRow
	for n := range int64(10) {
		v := value{point{metric: "m0", us: n + 1}, float64(101 + n)}
		s.begin(n+1, 2*n+1, []value{v})
		if n == 9 { // outcome unknown
			s.end(n+1, 2*n+2, []value{v}, false, true)
			continue
		}
		s.end(n+1, 2*n+2, []value{v}, true, false)
		stored = append(stored, pointRow{series, v.us, v.number})
	}
	gone := removal{write: 100, metric: "m0", from: 3, to: 4}
	s.beginRemoval(gone, 100)
	s.endRemoval(gone, 101, true, false)
	return s, append(stored[:2], stored[3:]...)
}

func TestPointsThatAreNotAsTheyWereAnsweredAreSeen(t *testing.T) {
	s, stored := aSource()
	require.Empty(t, s.compare(stored))
	unanswered := pointRow{stored[0].series, 10, 110}
	require.Empty(t, s.compare(append(stored, unanswered)), "what was not answered may be there")

	for name, corruption := range map[string]struct {
		change    func([]pointRow) []pointRow
		invariant int
		what      string
	}{
		"one is lost":      {func(p []pointRow) []pointRow { return p[1:] }, 1, "is lost"},
		"one stands twice": {func(p []pointRow) []pointRow { return append(p, p[3]) }, 1, "more than once"},
		"one was rejected, or never sent": {func(p []pointRow) []pointRow {
			return append(p, pointRow{p[0].series, 99, badValue})
		}, 1, "nobody was told"},
		"one has a value from before": {func(p []pointRow) []pointRow { p[2].value = 1; return p }, 3, "accepted last"},
		"one that was deleted is back": {func(p []pointRow) []pointRow {
			return append(p, pointRow{p[0].series, 3, 103})
		}, 3, "accepted last"},
		"one is in the wrong series": {func(p []pointRow) []pointRow {
			p[0].series.metric = "m1"
			return p
		}, 1, "nobody was told"},
		"a receipt is one that is unknown": {func(p []pointRow) []pointRow {
			return append(p, pointRow{seriesRow{metric: receiptMetric}, 5, 5})
		}, 1, "nobody sent"},
	} {
		t.Run(name, func(t *testing.T) {
			s, stored := aSource()
			requireFound(t, s.compare(corruption.change(stored)), corruption.invariant, corruption.what)
		})
	}
}

func TestAReceiptIsThereOnce(t *testing.T) {
	s, stored := aSource()
	s.receipts[1], s.receipts[2] = receipt{required: true}, receipt{}
	receiptRow := func(us int64, v float64) pointRow { return pointRow{seriesRow{metric: receiptMetric}, us, v} }
	require.Empty(t, s.compare(append(stored, receiptRow(50, 1))))
	require.Empty(t, s.compare(append(stored, receiptRow(50, 1), receiptRow(51, 2))))
	requireFound(t, s.compare(stored), 1, "is lost")
	requireFound(t, s.compare(append(stored, receiptRow(50, 1), receiptRow(52, 1))), 1, "more than once")
}

func TestWhatIsNotSettledIsKnownAfterwards(t *testing.T) {
	s, stored := aSource()
	values, receipts := settledPoints(stored)
	s.settle(values, receipts)
	require.Empty(t, s.compare(stored))
	requireFound(t, s.compare(append(stored, pointRow{stored[0].series, 10, 110})), 1, "nobody was told")
	requireFound(t, s.compare(append(stored, pointRow{stored[0].series, 3, 103})), 1, "nobody was told")
}

func TestReadsThatDifferFromTheGraphAreDetected(t *testing.T) {
	s, stored := aSource()
	good := func() apiPoints {
		r := apiPoints{points: map[point]float64{}}
		for _, row := range stored {
			r.points[point{row.series.metric, row.series.isString, row.us}] = row.value
			r.count++
			r.sum += row.value
		}
		return r
	}
	require.Empty(t, compareReads(s, stored, good()))
	for name, corrupt := range map[string]func(*apiPoints){
		"a point is missing": func(r *apiPoints) { delete(r.points, point{metric: "m0", us: 1}) },
		"one is too many":    func(r *apiPoints) { r.points[point{metric: "m0", us: 77}] = 1 },
		"a value is other":   func(r *apiPoints) { r.points[point{metric: "m0", us: 1}] = 1 },
		"the count is other": func(r *apiPoints) { r.count++ },
		"the sum is other":   func(r *apiPoints) { r.sum += 0.5 },
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			corrupt(&r)
			requireFound(t, compareReads(s, stored, r), 1, "the API")
		})
	}
}

func TestOfAPointThatComesTwiceInARequestTheLastCounts(t *testing.T) {
	p, q := point{metric: "m", us: 1}, point{metric: "m", us: 2}
	require.Equal(t, []value{{q, 2}, {p, 3}}, lastPerPoint([]value{{p, 1}, {q, 2}, {p, 3}}))
}

func TestADumpThatAReplayChangedIsSeen(t *testing.T) {
	before := map[string]digest{"points": {3, 5}, "states": {1, 2}}
	require.Empty(t, compareDumps(before, map[string]digest{"points": {3, 5}, "states": {1, 2}}, 4))
	requireFound(t, compareDumps(before, map[string]digest{"points": {4, 5}, "states": {1, 2}}, 4), 2, "a replay changed")
}

func TestOneBugIsNotReportedAThousandTimes(t *testing.T) {
	s, _ := aSource()
	for n := range int64(1000) {
		v := value{point{metric: "m1", us: n}, float64(n)}
		s.begin(1000+n, 1000+n, []value{v})
		s.end(1000+n, 3000+n, []value{v}, true, false)
	}
	require.Len(t, s.compare(nil), maxShown)
	f := &findings{}
	for n := range 1000 {
		f.add(1, "it is wrong", "%s", strconv.Itoa(n))
	}
	require.Len(t, f.drain(), maxFindings+1)
	require.Empty(t, f.drain())
}
