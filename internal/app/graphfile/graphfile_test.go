package graphfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

func id(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("00000000-0000-7000-8000-%012x", n)) }

func nodeText(n int) string {
	return fmt.Sprintf(`{"node":{"id":%q,"name":"node %d","entityType":"object","description":null,"properties":{"n":%d},`+
		`"createdAt":"2026-11-21T07:40:08.290296Z","updatedAt":"2026-11-21T07:40:08.290296Z","version":3}}`, id(n), n, n)
}

func edgeText(n, source, target int) string {
	return fmt.Sprintf(
		`{"edge":{"id":%q,"sourceId":%q,"targetId":%q,"relationType":"feeds","properties":{}}}`, id(n), id(source),
		id(target),
	)
}

func fileOf(lines ...string) io.Reader { return strings.NewReader(strings.Join(lines, "\n") + "\n") }

// fakeServer implements the part of the API that an import uses. test/e2e tests the import
// into a real server.
type fakeServer struct {
	nodes        map[uuid.UUID]client.Node
	edges        map[uuid.UUID]client.Edge
	used         map[uuid.UUID]bool
	batches      []int
	requestedIDs int
	fail         error
}

func newFakeServer() *fakeServer {
	return &fakeServer{nodes: map[uuid.UUID]client.Node{}, edges: map[uuid.UUID]client.Edge{}, used: map[uuid.UUID]bool{}}
}

func (p *fakeServer) EachNode(_ context.Context, f client.Filter, visit func(client.Node) error) error {
	p.requestedIDs += len(f.IDs)
	for _, id := range f.IDs {
		if n, ok := p.nodes[id]; ok {
			if err := visit(n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *fakeServer) EachEdge(_ context.Context, f client.Filter, visit func(client.Edge) error) error {
	for _, id := range f.IDs {
		if e, ok := p.edges[id]; ok {
			if err := visit(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *fakeServer) Batch(_ context.Context, commands []client.Command, atomic bool) (client.BatchAnswer, error) {
	if p.fail != nil {
		return client.BatchAnswer{}, p.fail
	}
	p.batches = append(p.batches, len(commands))
	answer := client.BatchAnswer{Results: make([]client.BatchResult, len(commands))}
	var undo []func()
	for i, c := range commands {
		err := p.do(c, &undo)
		if err != nil && atomic {
			for _, back := range slices.Backward(undo) {
				back()
			}
			return client.BatchAnswer{}, err
		}
		answer.Results[i].Err = err
	}
	return answer, nil
}

func (p *fakeServer) do(c client.Command, undo *[]func()) error {
	reserve := func(id uuid.UUID) error {
		if p.used[id] {
			return fault.New(fault.Conflict, "taken").With("reason", "already_exists")
		}
		p.used[id] = true
		*undo = append(*undo, func() { delete(p.used, id); delete(p.nodes, id); delete(p.edges, id) })
		return nil
	}
	switch payload := c.Payload.(type) {
	case *client.NewNode:
		if err := reserve(payload.ID); err != nil {
			return err
		}
		p.nodes[payload.ID] = client.Node{
			ID: payload.ID, Name: payload.Name, EntityType: payload.EntityType, Description: payload.Description,
			Properties: payload.Properties,
		}
	case *client.NewEdge:
		for _, end := range []uuid.UUID{payload.SourceID, payload.TargetID} {
			if _, ok := p.nodes[end]; !ok {
				return fault.New(fault.NotFound, "Source node not found")
			}
		}
		if err := reserve(payload.ID); err != nil {
			return err
		}
		p.edges[payload.ID] = client.Edge{
			ID: payload.ID, SourceID: payload.SourceID, TargetID: payload.TargetID, RelationType: payload.RelationType,
			Properties: payload.Properties,
		}
	}
	return nil
}

const header = `{"graph":{"format":1,"workspaceId":"w","exportedAt":"2026-11-21T07:40:08Z","sequence":9,` +
	`"nodes":2,"edges":1}}`

func TestAWholeFileIsGood(t *testing.T) {
	found, err := Check(fileOf(header, nodeText(1), "", "  ", nodeText(2), edgeText(3, 1, 2)))
	require.NoError(t, err)
	require.Empty(t, found.Bad)
	require.EqualValues(t, 2, found.Nodes)
	require.EqualValues(t, 1, found.Edges)
	require.EqualValues(t, 9, found.Header.Sequence)

	found, err = Check(strings.NewReader(nodeText(1))) // no header, no end of the last line
	require.NoError(t, err)
	require.Zero(t, found.BadCount)
	require.EqualValues(t, 1, found.Nodes)
}

func TestEveryBadLineIsNamedWithItsReason(t *testing.T) {
	with := func(member, value string) string {
		return strings.Replace(nodeText(1), member, value, 1)
	}
	for bad, reason := range map[string]string{
		"{":                                  "is no JSON",
		"[]":                                 "the line: is of the wrong JSON type",
		"null":                               `must have one member: "node" or "edge"`,
		"{}":                                 `must have one member: "node" or "edge"`,
		`{"x":1}`:                            "x: unknown",
		`{"Node":{}}`:                        "Node: unknown",
		`{"\u001b[2J\n":1}`:                  `\x1b[2J\n: unknown`,
		`{"node":{},"edge":{}}`:              "must have one member",
		`{"node":1}`:                         "node: is of the wrong JSON type",
		`{"node":{}}`:                        "node.id must be a UUID",
		`{"graph":{"format":2}}`:             "graph.format is 2; this version reads 1",
		with(`"name":"node 1"`, `"name":""`): "node.name: must not be empty",
		with(`"name":"node 1"`, `"name":5`):  "node.name: is of the wrong JSON type",
		with(`"name":"node 1"`, `"name":"a","name":"b"`):         "node.name: duplicate",
		with(`"name":"node 1"`, `"nam":"a"`):                     "node.nam: unknown",
		with(`"entityType":"object"`, `"entityType":"thing"`):    "node.entityType: is not an entity type",
		with(`"properties":{"n":1}`, `"properties":[]`):          "node.properties must be an object",
		with(`"properties":{"n":1}`, `"properties":{"n":1e999}`): "node.properties: holds a number beyond",
		with(id(1).String(), "{"+id(1).String()+"}"):             "node.id must be a UUID",
		with(id(1).String(), "1"):                                "node.id must be a UUID",
		strings.Replace(edgeText(3, 1, 2), "feeds", "", 1):       "edge.relationType: must not be empty",
		strings.Replace(edgeText(3, 1, 2), "sourceId", "s", 1):   "edge.s: unknown",
		`{"edge":{}}`: "edge.id must be a UUID; edge.sourceId must be a UUID; edge.targetId must " +
			"be a UUID",
		nodeText(1) + "x":                   "is no JSON",
		`{"node":"` + "\xff" + `"}`:         "is no JSON",
		strings.Repeat("x", maxLineBytes+5): "is longer than 1048576 bytes",
	} {
		found, err := Check(fileOf(nodeText(7), bad, nodeText(8)))
		require.NoError(t, err)
		require.Equal(t, 1, found.BadCount, "%.100s", bad)
		require.Equal(t, 2, found.Bad[0].Line, "%.100s", bad)
		require.Contains(t, found.Bad[0].Reason, reason, "%.100s", bad)
		require.NotContains(t, found.Bad[0].String(), "\n")
		require.EqualValues(t, 2, found.Nodes, "the lines around it are read")
	}
}

func TestAFileThatWasCutOffIsNotWhole(t *testing.T) {
	for _, lines := range [][]string{
		{header}, {header, nodeText(1), nodeText(2)},
		{header, nodeText(1), nodeText(2), edgeText(3, 1, 2), edgeText(4, 1, 2)},
	} {
		found, err := Check(fileOf(lines...))
		require.NoError(t, err)
		require.Equal(t, 1, found.BadCount)
		require.Contains(t, found.Bad[0].Reason, "it is not whole")
	}
	found, err := Check(fileOf(nodeText(1), header))
	require.NoError(t, err)
	require.Contains(t, found.Bad[0].Reason, "the header is the first line")
}

func TestBadLinesAreCountedAndTheFirstAreNamed(t *testing.T) {
	found, err := Check(strings.NewReader(strings.Repeat("x\n", 1000)))
	require.NoError(t, err)
	require.Equal(t, 1000, found.BadCount)
	require.Len(t, found.Bad, maxBadLines)
}

func TestAFileThatCannotBeReadIsAnError(t *testing.T) {
	broken := io.MultiReader(fileOf(nodeText(1)), failing{})
	_, err := Check(broken)
	require.ErrorContains(t, err, "reading line 2: no disk")
	_, err = importFile(t.Context(), newFakeServer(), io.MultiReader(fileOf(nodeText(1)), failing{}), Options{})
	require.ErrorContains(t, err, "reading line 2: no disk")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no disk") }

func TestAnImportMakesEverythingWithItsID(t *testing.T) {
	p := newFakeServer()
	var progress []int
	lines := []string{header}
	for n := range 2500 {
		lines = append(lines, nodeText(n))
	}
	lines = append(lines, edgeText(10_000, 0, 2499))
	done, err := importFile(t.Context(), p, fileOf(lines...), Options{Progress: func(i *ImportResult) {
		progress = append(progress, i.Line)
	}})
	require.NoError(t, err)
	require.Equal(t, ImportResult{Line: 2502, Created: 2501}, done)
	require.Equal(t, []int{1000, 1000, 501}, p.batches)
	require.Equal(t, []int{1001, 2001, 2502}, progress)
	require.Equal(t, "node 7", p.nodes[id(7)].Name)
	require.Equal(t, id(2499), p.edges[id(10_000)].TargetID)
	require.Zero(t, p.requestedIDs)
}

func TestAnInterruptedImportResumes(t *testing.T) {
	p := newFakeServer()
	var lines []string
	for n := range 1500 {
		lines = append(lines, nodeText(n))
	}
	lines = append(lines, edgeText(10_000, 0, 1499))
	_, err := importFile(t.Context(), p, fileOf(lines[:700]...), Options{})
	require.NoError(t, err)
	done, err := importFile(t.Context(), p, fileOf(lines...), Options{})
	require.NoError(t, err)
	require.Equal(t, ImportResult{Line: 1501, Created: 801, Existing: 700}, done)
	require.Len(t, p.nodes, 1500)

	p.batches = nil
	done, err = importFile(t.Context(), p, fileOf(lines...), Options{FromLine: 1501})
	require.NoError(t, err)
	require.Equal(t, ImportResult{Line: 1501, Existing: 1}, done)
	require.Equal(t, []int{1}, p.batches, "earlier lines are skipped")

	p.fail = fault.New(fault.Unavailable, "unavailable")
	done, err = importFile(t.Context(), p, fileOf(append(lines, nodeText(9999))...), Options{})
	require.ErrorContains(t, err, "importing lines 1 to 1000")
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.Zero(t, done.Line)
}

func TestExistingNodesAreUnchangedAndRefusedOnesAreNamed(t *testing.T) {
	p := newFakeServer()
	_, err := importFile(t.Context(), p, fileOf(nodeText(1), nodeText(2), nodeText(3), edgeText(9, 1, 2)), Options{})
	require.NoError(t, err)
	changed := p.nodes[id(2)]
	changed.Name = "renamed"
	p.nodes[id(2)] = changed
	delete(p.nodes, id(3)) // its id stays used
	done, err := importFile(t.Context(), p, fileOf(
		nodeText(1), nodeText(2), nodeText(3), nodeText(4), nodeText(4), "x", edgeText(9, 1, 2), edgeText(5, 1, 77),
		edgeText(6, 1, 4)), Options{})
	require.NoError(t, err)
	require.Equal(t, ImportResult{
		Line: 9, Created: 2, Existing: 2, Different: 1, RefusedCount: 4,
		Refused: []BadLine{
			{3, "its id is used already: by something that was deleted, or by an earlier line"},
			{5, "its id is used already: by something that was deleted, or by an earlier line"},
			{6, done.Refused[2].Reason},
			{8, "Source node not found"},
		},
	}, done)
	require.Equal(t, "renamed", p.nodes[id(2)].Name)
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	p := newFakeServer()
	var lines []string
	for n := range 100 {
		lines = append(lines, strings.Replace(
			nodeText(n), `"description":null`, `"description":"`+strings.Repeat("d", 60_000)+`"`, 1,
		))
	}
	done, err := importFile(t.Context(), p, fileOf(lines...), Options{})
	require.NoError(t, err)
	require.EqualValues(t, 100, done.Created)
	require.Len(t, p.batches, 2)
}

func TestPropertiesAreComparedWhateverTheyLookLike(t *testing.T) {
	read := func(text string) (p client.Properties) {
		require.NoError(t, json.Unmarshal([]byte(text), &p))
		return p
	}
	for _, same := range [][2]string{
		{`{}`, `{}`}, {`{"a":1.0,"b":{"y":1,"x":2}}`, `{"b":{"x":2,"y":1},"a":1}`}, {`{"a":null}`, `{}`},
		{`{"a":"\u0041"}`, `{"a":"A"}`},
	} {
		require.True(t, sameProperties(read(same[0]), read(same[1])), same)
	}
	for _, other := range [][2]string{
		{`{"a":1}`, `{}`}, {`{}`, `{"a":1}`}, {`{"a":1}`, `{"a":"1"}`}, {`{"a":null}`, `{"b":1}`},
	} {
		require.False(t, sameProperties(read(other[0]), read(other[1])), other)
	}
	require.True(t, sameProperties(nil, client.Properties{}))
}

func FuzzALineIsARecordOrHasAReason(f *testing.F) {
	for _, seed := range []string{
		header, nodeText(1), edgeText(3, 1, 2), `{"node":{"id":"x"}}`, "\x00", `{"node":{"properties":{"a":[[[]]]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := parse(text)
		if err != nil {
			require.NotEmpty(t, reason(err))
			require.NotContains(t, strings.Map(func(r rune) rune {
				if unicode.IsPrint(r) {
					return -1
				}
				return '!'
			}, reason(err)), "!", "%q", reason(err))
			return
		}
		if rec.header != nil {
			return
		}
		body, err := json.Marshal(rec.command(), json.Deterministic(true))
		require.NoError(t, err)
		require.True(t, jsontext.Value(body).IsValid())
	})
}

func ExampleCheck() {
	found, err := Check(strings.NewReader("{\"node\":{\"id\":\"7\"}}\n"))
	fmt.Println(found.Bad[0], err)
	// Output: line 1: node.id must be a UUID <nil>
}
