package load

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
)

func TestAnAuditLogThatIsNotWhatWasAnsweredIsSeen(t *testing.T) {
	open := func() map[string]requestRecord {
		return map[string]requestRecord{"r1": {key: "k", workspace: "w", status: 200}, "r2": {key: "k", status: 403}}
	}
	good := []auditRow{{"r1", "k", "w", 200, 1}, {"r2", "k", "", 403, 1}, {"r3", "k", "w", 200, 1}}
	all := open()
	require.Empty(t, compareAuditRows(all, good))
	require.Empty(t, all)
	for name, row := range map[string]auditRow{
		"more than once":         {"r1", "k", "w", 200, 2},
		"with another status":    {"r1", "k", "w", 0, 1},
		"of another key":         {"r1", "q", "w", 200, 1},
		"in another's workspace": {"r1", "k", "v", 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			requireFound(t, compareAuditRows(open(), []auditRow{row}), 11, "audit log")
		})
	}
	left := open()
	compareAuditRows(left, good[:1])
	require.Contains(t, left, "r2", "it is waited for")
}

func TestAStrangersCanaryIsSeen(t *testing.T) {
	mine, other := canaryOf(7, 1), canaryOf(7, 2)
	require.NotEqual(t, mine, other)
	require.Len(t, mine, canaryLength)
	require.Empty(t, foreignCanary([]byte(`{"name":"`+mine+` pump","again":"`+mine+`"}`), mine))
	require.Equal(t, other, foreignCanary([]byte(`{"name":"`+mine+` pump","again":"`+other+`"}`), mine))
	require.NotEmpty(t, foreignCanary([]byte(other[:canaryLength-1]), mine), "also one that is cut off")
	require.NotEmpty(t, foreignCanary([]byte(mine), ""))

	l := aFeed().tenant.load
	l.checkLeak(call{key: access{tenant: &tenant{canary: mine}}}, []byte(other))
	requireFound(t, l.findings.drain(), 10, "of another")
}

func TestSearchesThatDifferFromTheGraphAreDetected(t *testing.T) {
	n := &graph.Node{ID: uuid.New(), Name: "a pump"}
	require.Nil(t, compareHits(searchPath, n, map[uuid.UUID]bool{n.ID: true}))
	require.Equal(t, 13, compareHits(searchPath, n, map[uuid.UUID]bool{}).Invariant)
	gone := &graph.Node{ID: uuid.New(), Lifecycle: graph.Lifecycle{Deleted: true}}
	require.Nil(t, compareHits(searchPath, gone, map[uuid.UUID]bool{}))
	require.Equal(t, 13, compareHits(searchPath, gone, map[uuid.UUID]bool{gone.ID: true}).Invariant)

	nodes := map[uuid.UUID]*graph.Node{n.ID: n, gone.ID: gone}
	require.Empty(t, compareIndexed("w", "words", nodes, []uuid.UUID{n.ID}))
	requireFound(t, compareIndexed("w", "words", nodes, nil), 13, "lacks")
	requireFound(t, compareIndexed("w", "words", nodes, []uuid.UUID{n.ID, gone.ID}), 13, "gone")
	requireFound(t, compareIndexed("w", "words", nodes, []uuid.UUID{n.ID, uuid.New()}), 13, "gone")
}

func TestAProcessThatTakesTooMuchIsSeen(t *testing.T) {
	b := Bounds{Goroutines: 1000, OpenFiles: 500, Resident: 1 << 30}
	first := Vitals{100, 50, 1 << 20}
	require.Empty(t, b.compare("u", first, Vitals{150, 60, 1 << 29}))
	requireFound(t, b.compare("u", first, Vitals{600, 60, 1 << 20}), 14, "too much")
	requireFound(t, b.compare("u", first, Vitals{100, 501, 1 << 20}), 14, "too much")
	requireFound(t, b.compare("u", first, Vitals{100, 50, 2 << 30}), 14, "too much")
	page := "# TYPE go_goroutines gauge\ngo_goroutines 12\n# TYPE process_open_fds gauge\nprocess_open_fds 7\n# TYPE " +
		"process_resident_memory_bytes gauge\nprocess_resident_memory_bytes 1e+06\n"
	v, err := ReadVitals([]byte(page))
	require.NoError(t, err)
	require.Equal(t, Vitals{12, 7, 1e6}, v)
	_, err = ReadVitals([]byte("x 1\n"))
	require.Error(t, err)
}

func TestAnswersThatNobodyMayGetAreSeen(t *testing.T) {
	l := aFeed().tenant.load
	c := newClient(l, nil)
	for _, status := range []int{500, 501, 502, 503, 504} {
		c.checkAnswer(call{}, &answer{Status: status, Header: http.Header{}})
		requireFound(t, l.findings.drain(), 15, "")
	}
	c.checkAnswer(call{}, &answer{Status: 503, Header: http.Header{"Retry-After": {"1"}}})
	require.Empty(t, l.findings.drain())
	for _, status := range []int{401, 403, 429} {
		c.checkAnswer(call{}, &answer{Status: status})
		requireFound(t, l.findings.drain(), 12, "refused")
		c.checkAnswer(call{errorExpected: true}, &answer{Status: status})
		require.Empty(t, l.findings.drain())
	}
}
