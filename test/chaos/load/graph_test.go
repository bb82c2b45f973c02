package load

import (
	"bufio"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

var ann = uuid.New()

// aJournal returns the journal of a workspace in which two nodes and an edge were created and one
// node was changed, deleted with its edge, restored, deleted again and restored again.
func aJournal(t *testing.T) (journal []journalRow, model *graphtest.Memory) {
	t.Helper()
	model = graphtest.NewMemory()
	a, b, e := uuid.New(), uuid.New(), uuid.New()
	name := "other"
	for _, payload := range []graph.Payload{
		graph.CreateNode{ID: a, Name: "a", EntityType: graph.Object, Properties: jsontext.Value(`{"mark":1}`)},
		graph.CreateNode{ID: b, Name: "b", EntityType: graph.Object},
		graph.CreateEdge{ID: e, SourceID: a, TargetID: b, RelationType: "feeds"},
		graph.UpdateNode{ID: a, Name: &name, Properties: jsontext.Value(`{"mark":2}`)},
		graph.DeleteNode{ID: a},
		graph.Undo{}, graph.Redo{}, graph.Undo{}, graph.Undo{},
	} {
		_, err := model.Apply(graph.Command{
			ID: uuid.New(), Origin: graph.Origin{Actor: ann, Scopes: []string{"admin"}, AcceptedAt: time.Now()},
			Action: graph.Action{Payload: payload},
		})
		require.NoError(t, err)
	}
	for _, c := range model.Journal {
		copied := *c
		copied.Steps = append([]graph.Step(nil), c.Steps...)
		journal = append(journal, journalRow{int64(c.Sequence), c.CommandID, &copied})
	}
	return journal, model
}

func TestASecondNodeWithTheKeyOfAnUpsertIsSeen(t *testing.T) {
	journal := func(key string) []journalRow {
		model := graphtest.NewMemory()
		var rows []journalRow
		for _, properties := range []string{`{"upsert":"a"}`, `{"upsert":"` + key + `"}`} {
			done, err := model.Apply(graph.Command{
				ID: uuid.New(), Origin: graph.Origin{Actor: ann, Scopes: []string{"admin"}},
				Action: graph.Action{Payload: graph.CreateNode{
					ID: uuid.New(), Name: "n", EntityType: graph.Object, Properties: jsontext.Value(properties),
				}},
			})
			require.NoError(t, err)
			rows = append(rows, journalRow{int64(done.Change.Sequence), done.Change.CommandID, done.Change})
		}
		return rows
	}
	require.Empty(t, newHistory().follow(journal("b"), nil))
	found := newHistory().follow(journal("a"), nil)
	require.Len(t, found, 1)
	require.Contains(t, found[0].What, "a second node")
}

func TestAJournalThatIsNotWhatItMustBeIsSeen(t *testing.T) {
	journal, _ := aJournal(t)
	require.Empty(t, newHistory().follow(journal, nil))
	require.Len(t, journal, 9)
	node := func(row *journalRow, change func(*graph.Node)) {
		n := *row.change.Steps[0].Node
		change(&n)
		row.change.Steps[0].Node = &n
	}
	for name, corruption := range map[string]struct {
		change    func([]journalRow) []journalRow
		invariant int
		what      string
	}{
		"an entry is missing": {func(j []journalRow) []journalRow { return append(j[:3:3], j[4:]...) }, 5, "a gap"},
		"an entry is there twice": {func(j []journalRow) []journalRow {
			return append(j[:3:3], j[2:]...)
		}, 5, "a repeat"},
		"an entry is another's": {func(j []journalRow) []journalRow {
			j[2].command = uuid.New()
			return j
		}, 5, "not what its row says"},
		"a version stays": {func(j []journalRow) []journalRow {
			node(&j[3], func(n *graph.Node) { n.Version = 1 })
			return j
		}, 6, "a version"},
		"a version leaps": {func(j []journalRow) []journalRow {
			node(&j[3], func(n *graph.Node) { n.Version = 9 })
			return j
		}, 6, "a version"},
		"an edge stays without a node": {func(j []journalRow) []journalRow {
			j[4].change.Steps[0].Cascade = nil
			return j
		}, 7, "without an end"},
		"an undo forgets the edges": {func(j []journalRow) []journalRow {
			j[5].change.Steps[0].Cascade = nil
			return j
		}, 8, "edge"},
		"a redo does nothing": {func(j []journalRow) []journalRow {
			node(&j[6], func(n *graph.Node) { n.Deleted = false })
			return j
		}, 8, "does not bring back"},
		"an undo leaves a name": {func(j []journalRow) []journalRow {
			node(&j[8], func(n *graph.Node) { n.Name = "other" })
			return j
		}, 8, "does not bring back"},
	} {
		t.Run(name, func(t *testing.T) {
			journal, _ := aJournal(t)
			var evidence strings.Builder
			found := newHistory().follow(corruption.change(journal), nil)
			for _, v := range found {
				fmt.Fprintln(&evidence, v)
				if v.Invariant == corruption.invariant && strings.Contains(v.What+v.Evidence, corruption.what) {
					return
				}
			}
			t.Fatalf("not seen: %s", evidence.String())
		})
	}
}

func TestAGraphThatIsNotWhatItsJournalAddsUpToIsSeen(t *testing.T) {
	totals := map[string]int64{"1 object": 2, "2 feeds": 1}
	for name, corruption := range map[string]struct {
		change    func(*graphtest.Memory, map[string]int64)
		invariant int
	}{
		"nothing":                 {func(*graphtest.Memory, map[string]int64) {}, 0},
		"a node is missing":       {func(m *graphtest.Memory, _ map[string]int64) { dropOne(m.Nodes) }, 5},
		"an edge is missing":      {func(m *graphtest.Memory, _ map[string]int64) { dropOne(m.Edges) }, 5},
		"an edge has lost an end": {func(m *graphtest.Memory, _ map[string]int64) { clear(m.Nodes) }, 7},
		"a node is too many": {func(m *graphtest.Memory, _ map[string]int64) {
			id := uuid.New()
			m.Nodes[id] = &graph.Node{ID: id}
		}, 5},
		"a version is other": {func(m *graphtest.Memory, _ map[string]int64) {
			for id, n := range m.Nodes {
				changed := *n
				changed.Version++
				m.Nodes[id] = &changed
			}
		}, 5},
		"a total is other": {func(_ *graphtest.Memory, totals map[string]int64) { totals["1 object"]++ }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			journal, stored := aJournal(t)
			h := newHistory()
			require.Empty(t, h.follow(journal, nil))
			counted := map[string]int64{}
			for label, n := range totals {
				counted[label] = n
			}
			corruption.change(stored, counted)
			found := compareGraphs("w", h.graph, stored, counted)
			if corruption.invariant == 0 {
				require.Empty(t, found)
				return
			}
			require.Contains(t, invariants(found), corruption.invariant)
		})
	}
}

func dropOne[T any](all map[uuid.UUID]T) {
	for id := range all {
		delete(all, id)
		return
	}
}

func TestCommandsThatAreNotInTheJournalAsAnsweredAreSeen(t *testing.T) {
	answered := func(journal []journalRow) *ledger {
		g := &ledger{}
		g.init()
		for _, row := range journal {
			g.applied[row.command] = row.sequence
		}
		return g
	}
	journal, _ := aJournal(t)
	require.Empty(t, answered(journal).compare("w", journal))

	for name, corruption := range map[string]struct {
		change func(*ledger)
		what   string
	}{
		"answered, and without effect":  {func(g *ledger) { g.applied[uuid.New()] = 4 }, "has had no effect"},
		"at another sequence":           {func(g *ledger) { g.applied[journal[2].command] = 77 }, "at another place"},
		"in the journal, and of nobody": {func(g *ledger) { delete(g.applied, journal[8].command) }, "nobody asked for"},
		"said to have failed": {func(g *ledger) {
			delete(g.applied, journal[4].command)
			g.failed[journal[4].command] = "why"
		}, "said to have failed"},
		"said to have changed nothing": {func(g *ledger) {
			delete(g.applied, journal[4].command)
			g.unchanged[journal[4].command] = true
		}, "changed nothing"},
		"without a key, with its effect": {func(g *ledger) {
			delete(g.applied, journal[0].command)
			g.unkeyed[1] = true
		}, ""},
		"without a key, done twice": {func(g *ledger) {
			delete(g.applied, journal[3].command)
			delete(g.applied, journal[4].command) // has the mark of the command before
			g.unkeyed[2] = true
		}, "nobody asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			g := answered(journal)
			corruption.change(g)
			found := g.compare("w", journal)
			if corruption.what == "" {
				require.Empty(t, found)
				return
			}
			requireFound(t, found, 4, corruption.what)
		})
	}
}

// aFeed returns the feed of a tenant that does not exist on any server.
func aFeed() *feed {
	l := &Load{findings: &findings{}, requests: newRequestRecords(), log: slog.Default()}
	return newFeed(&tenant{load: l, canary: canaryOf(1, 1)})
}

func stream(journal []journalRow) string {
	var text strings.Builder
	for _, row := range journal {
		c := row.change
		fmt.Fprintf(
			&text, "id: %d\nevent: change\ndata: {\"sequence\":%d,\"commandId\":%q,\"actorId\":%q,\"type\":%q", row.sequence,
			row.sequence, c.CommandID, c.Actor, c.Type,
		)
		if n := c.Steps[0].Node; n != nil {
			fmt.Fprintf(&text, `,"node":{"id":%q,"name":%q,"version":%d,"deleted":%t}`, n.ID, n.Name, n.Version, n.Deleted)
		}
		if e := c.Steps[0].Edge; e != nil {
			fmt.Fprintf(&text, `,"edge":{"id":%q,"version":%d,"deleted":%t}`, e.ID, e.Version, e.Deleted)
		}
		text.WriteString("}\n\n: heartbeat\n\n")
	}
	return text.String()
}

func TestEventsThatAreNotTheJournalAreSeen(t *testing.T) {
	read := func(text string) (inStream, inComparison []Violation) {
		journal, _ := aJournal(t)
		f := aFeed()
		f.parse(bufio.NewScanner(strings.NewReader(text)), "req", math.MaxInt64)
		return f.tenant.load.findings.drain(), compareEvents("w", journal, f.drain())
	}
	journal, _ := aJournal(t)
	f := aFeed()
	f.parse(bufio.NewScanner(strings.NewReader(stream(journal))), "req", math.MaxInt64)
	require.Empty(t, f.tenant.load.findings.drain())
	require.Empty(t, compareEvents("w", journal, f.drain()))

	inStream, _ := read(stream(append(journal[:2:2], journal[3:]...)))
	requireFound(t, inStream, 5, "left something out")
	inStream, _ = read(stream(append(journal[:2:2], journal[1:]...)))
	requireFound(t, inStream, 5, "repeats it")
	inStream, _ = read(strings.Replace(stream(journal), "id: 4", "id: 5", 1))
	requireFound(t, inStream, 5, "another id")
	_, inComparison := read(stream(journal)) // of another journal
	requireFound(t, inComparison, 5, "says otherwise")
	_, inComparison = read(stream(journal[:3]))
	require.NotEmpty(t, inComparison)

	half := stream(journal[:2])
	f = aFeed()
	f.parse(bufio.NewScanner(strings.NewReader(half[:len(half)-20])), "req", math.MaxInt64)
	require.EqualValues(t, 1, f.last, "an event that broke off is none")
}

func TestATopicThatIsNotTheJournalsIsSeen(t *testing.T) {
	journal, _ := aJournal(t)
	ten := aFeed().tenant
	ten.uuid, ten.history = uuid.New(), newHistory()
	require.Empty(t, ten.history.follow(journal, nil))
	var records []topicRow
	for _, row := range journal {
		records = append(records, topicRow{workspace: ten.uuid, sequence: row.sequence, command: row.command})
	}
	compare := func(records []topicRow) []Violation {
		r := topicReader{seen: map[uuid.UUID]int64{}}
		return r.compare(records, map[uuid.UUID]*tenant{ten.uuid: ten})
	}
	require.Empty(t, compare(records))
	require.Empty(t, compare(append(records, records...)), "it may be there again")
	require.Empty(t, compare(append(records, topicRow{workspace: uuid.New(), sequence: 3})), "of another environment")
	requireFound(t, compare(append(records[:3:3], records[4:]...)), 5, "left out")
	requireFound(t, compare(records[:8]), 5, "not published")
	requireFound(
		t, compare(append(records, topicRow{workspace: ten.uuid, sequence: 10, command: uuid.New()})), 5,
		"not in the journal",
	)
	other := append([]topicRow(nil), records...)
	other[4].command = uuid.New()
	requireFound(t, compare(other), 5, "another command")
}
