package document_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

var workspace = uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")

// fixture is a graph with one document.
type fixture struct {
	t      require.TestingT
	memory *graphtest.Memory
}

// state returns the current state of the document.
func (f *fixture) state() (s document.State) {
	for _, n := range f.memory.Nodes {
		switch m := document.MarkOf(n); {
		case m == nil || n.Deleted:
		case m.Passage == nil:
			require.Nil(f.t, s.Document, "there is one document")
			s.Document = n
		default:
			s.Passages = append(s.Passages, *n)
		}
	}
	slices.SortFunc(s.Passages, func(a, b graph.Node) int {
		return document.MarkOf(&a).Passage.Index - document.MarkOf(&b).Passage.Index
	})
	for generation := 0; s.FreeID == uuid.Nil; generation++ {
		if id := document.ID(workspace, "doc", generation); f.memory.Nodes[id] == nil {
			s.FreeID = id
		}
	}
	return s
}

// origin is the author of all commands.
func origin() graph.Origin { return graph.Origin{Actor: workspace, Scopes: []string{"admin"}} }

// apply applies a change as the consumer of commands does.
func (f *fixture) apply(c document.Change) error {
	if len(c.Actions) == 0 {
		return nil
	}
	_, err := f.memory.ApplyBatch(graph.Batch{ID: uuid.New(), Origin: origin(), Actions: c.Actions})
	return err
}

func (f *fixture) undo() error {
	_, err := f.memory.Apply(graph.Command{
		ID: uuid.New(), Origin: origin(), Action: graph.Action{Payload: graph.Undo{}},
	})
	return err
}

// source returns a document with passages whose texts are numbers.
func source(hash string, numbers []int) *document.Source {
	s := &document.Source{ExternalID: "doc", Title: "Doc " + hash, ContentType: "text/plain", Hash: hash}
	if len(hash)%2 == 0 {
		now := time.Date(2026, 11, 21, 7, 40, 8, 0, time.UTC)
		s.Tags, s.SourceURL, s.Timestamp = []string{"a"}, "https://example.com", &now
	}
	for i, number := range numbers {
		p := document.Passage{Text: fmt.Sprint("text ", number), Position: document.Position{Index: i, From: i, To: i + 1}}
		if number%3 == 0 {
			p.Heading = fmt.Sprint("heading ", number)
		}
		s.Passages = append(s.Passages, p)
	}
	return s
}

// requireState requires that the graph has exactly the document.
func (f *fixture) requireState(src *document.Source) {
	s := f.state()
	require.NotNil(f.t, s.Document)
	mark := document.MarkOf(s.Document)
	require.Equal(f.t, src.Hash, mark.Hash)
	require.Equal(f.t, src.Tags, mark.Tags)
	require.Equal(f.t, src.SourceURL, mark.SourceURL)
	require.Equal(f.t, src.Timestamp, mark.Timestamp)
	require.Equal(f.t, src.Title, s.Document.Name)
	if len(src.Passages) < 2 {
		require.Empty(f.t, s.Passages)
		require.Equal(f.t, len(src.Passages) == 1, s.Document.Description != nil)
		return
	}
	require.Nil(f.t, s.Document.Description)
	require.Len(f.t, s.Passages, len(src.Passages))
	for i := range s.Passages {
		n := &s.Passages[i]
		require.Equal(f.t, src.Passages[i].Text, *n.Description)
		m := document.MarkOf(n)
		require.Equal(f.t, src.Passages[i].Position, *m.Passage)
		require.Equal(f.t, src.Title, m.Title)
		require.Equal(f.t, s.Document.ID, m.ID)
	}
	edges := 0
	for _, e := range f.memory.Edges {
		if !e.Deleted {
			require.Equal(f.t, s.Document.ID, e.SourceID)
			edges++
		}
	}
	require.Equal(f.t, len(s.Passages), edges)
}

// TestADocumentIsAlwaysItsLastContent applies random contents, deletions and undos to a document. The
// graph has exactly the passages of the content in effect, and no command of a plan ever fails.
func TestADocumentIsAlwaysItsLastContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := &fixture{t: t, memory: graphtest.NewMemory()}
		var history []*document.Source // nil: deleted
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			var now *document.Source
			if len(history) > 0 {
				now = history[len(history)-1]
			}
			switch action := rapid.SampledFrom([]string{"put", "put", "put", "delete", "undo"}).Draw(t, "action"); {
			case action == "put":
				numbers := rapid.SliceOfN(rapid.IntRange(0, 6), 0, 8).Draw(t, "texts")
				src := source(fmt.Sprint("h", step), numbers)
				change, err := document.Put(src, f.state())
				require.NoError(t, err)
				require.NoError(t, f.apply(change))
				require.Equal(t, now == nil, change.Outcome == document.Created)
				history = append(history, src)
			case action == "delete" && now != nil:
				require.NoError(t, f.apply(document.Delete(f.state())))
				history = append(history, nil)
			case action == "undo" && len(history) > 0:
				require.NoError(t, f.undo())
				history = history[:len(history)-1]
			}
			if len(history) == 0 || history[len(history)-1] == nil {
				s := f.state()
				require.Nil(t, s.Document)
				require.Empty(t, s.Passages)
				continue
			}
			f.requireState(history[len(history)-1])
			again, err := document.Put(history[len(history)-1], f.state())
			require.NoError(t, err)
			require.Equal(t, document.Unchanged, again.Outcome)
			require.Empty(t, again.Actions)
		}
	})
}

func TestAPlanMadeBeforeAnotherChangeConflicts(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, memory: graphtest.NewMemory()}
	first, err := document.Put(source("a", []int{1, 2}), f.state())
	require.NoError(t, err)
	second, err := document.Put(source("b", []int{3}), f.state())
	require.NoError(t, err)
	require.Equal(t, first.ID, second.ID)
	require.NoError(t, f.apply(first))
	require.Error(t, f.apply(second))
	third, err := document.Put(source("c", []int{4, 5, 6}), f.state())
	require.NoError(t, err)
	fourth, err := document.Put(source("d", []int{7, 8, 9}), f.state())
	require.NoError(t, err)
	require.NoError(t, f.apply(third))
	require.Error(t, f.apply(fourth))
	require.Error(t, f.apply(third), "a repeated batch has no second effect")
	f.requireState(source("c", []int{4, 5, 6}))
}

func TestAnUnchangedPassageKeepsItsNode(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, memory: graphtest.NewMemory()}
	put := func(hash string, numbers ...int) map[string]uuid.UUID {
		change, err := document.Put(source(hash, numbers), f.state())
		require.NoError(t, err)
		require.NoError(t, f.apply(change))
		ids := map[string]uuid.UUID{}
		for _, n := range f.state().Passages {
			ids[*n.Description] = n.ID
		}
		return ids
	}
	before := put("a", 1, 2, 3)
	after := put("b", 9, 1, 3, 4)
	require.Equal(t, before["text 1"], after["text 1"])
	require.Equal(t, before["text 3"], after["text 3"])
	require.Equal(t, before["text 2"], after["text 9"], "the node of the text that is gone")
}

func TestTheLargestChangeFitsIntoABatch(t *testing.T) {
	t.Parallel()
	numbers := func(from int) (list []int) {
		for i := range document.MaxPassages {
			list = append(list, from+i)
		}
		return list
	}
	f := &fixture{t: t, memory: graphtest.NewMemory()}
	for i, next := range [][]int{numbers(0), numbers(500), {1}, numbers(0)} {
		change, err := document.Put(source(fmt.Sprint(i), next), f.state())
		require.NoError(t, err)
		require.LessOrEqual(t, len(change.Actions), graph.MaxBatch)
		require.NoError(t, f.apply(change))
	}
	require.NoError(t, f.apply(document.Delete(f.state())))
}
