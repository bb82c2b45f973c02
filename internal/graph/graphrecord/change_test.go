package graphrecord_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

var (
	stringValues = rapid.SampledFrom([]string{"", "x", "größe", "\u202e", "a.b", `"`, "__proto__", "properties.a"})
	values       = rapid.SampledFrom([]string{
		`1`, `"x"`, `null`, `true`, `{"a":[1,2.5]}`, `[]`, `123456789012345678901234567890`,
	})
	numbers = rapid.Int64Range(0, 1<<60)
	ids     = rapid.Custom(func(t *rapid.T) uuid.UUID {
		return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	})
	times = rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMicro(rapid.Int64Range(-1<<50, 1<<52).Draw(t, "at")).UTC()
	})
	stamps = rapid.Custom(func(t *rapid.T) map[string]graph.Sequence {
		m := map[string]graph.Sequence{}
		for range rapid.IntRange(0, 3).Draw(t, "stamps") {
			m[stringValues.Draw(t, "field")] = graph.Sequence(numbers.Draw(t, "stamp"))
		}
		if len(m) == 0 {
			return nil
		}
		return m
	})
	lifecycles = rapid.Custom(func(t *rapid.T) graph.Lifecycle {
		return graph.Lifecycle{
			CreatedAt: times.Draw(t, "createdAt"), UpdatedAt: times.Draw(t, "updatedAt"), Version: numbers.Draw(t, "version"),
			ChangedBy: graph.Sequence(numbers.Draw(t, "changedBy")), CreatedBy: graph.Sequence(numbers.Draw(t, "createdBy")),
			Deleted: rapid.Bool().Draw(t, "deleted"), DeletedBy: graph.Sequence(numbers.Draw(t, "deletedBy")),
			Stamps: stamps.Draw(t, "stamps"), Floor: graph.Sequence(numbers.Draw(t, "floor")),
		}
	})
	properties = rapid.Custom(func(t *rapid.T) graph.Properties {
		p := graph.Properties{}
		for range rapid.IntRange(0, 3).Draw(t, "properties") {
			if v := values.Draw(t, "value"); v != "null" {
				p[stringValues.Draw(t, "key")] = jsontext.Value(v)
			}
		}
		if len(p) == 0 {
			return nil
		}
		return p
	})
	marks = rapid.Custom(func(t *rapid.T) graph.Mark {
		return graph.Mark{Sequence: graph.Sequence(numbers.Draw(t, "mark")), Node: ids.Draw(t, "markNode")}
	})
	nodes = rapid.Custom(func(t *rapid.T) *graph.Node {
		n := &graph.Node{
			ID: ids.Draw(t, "node"), Name: stringValues.Draw(t, "name"), EntityType: graph.Concept,
			Properties: properties.Draw(t, "properties"), Lifecycle: lifecycles.Draw(t, "life"),
		}
		if rapid.Bool().Draw(t, "described") {
			text := stringValues.Draw(t, "description")
			n.Description = &text
		}
		return n
	})
	edges = rapid.Custom(func(t *rapid.T) *graph.Edge {
		return &graph.Edge{
			ID: ids.Draw(t, "edge"), SourceID: ids.Draw(t, "source"), TargetID: ids.Draw(t, "target"),
			RelationType: stringValues.Draw(t, "type"),
			Properties:   properties.Draw(t, "properties"), Lifecycle: lifecycles.Draw(t, "life"), Taken: marks.Draw(t, "taken"),
		}
	})
	steps = rapid.Custom(func(t *rapid.T) graph.Step {
		s := graph.Step{Type: graph.TypeUpdateNode, Before: graph.Before{Stamps: stamps.Draw(t, "before"), Floor: 1}}
		if rapid.Bool().Draw(t, "isNode") {
			s.Node = nodes.Draw(t, "node")
			s.Cascade = &graph.Cascade{
				Mark: marks.Draw(t, "mark"), Restored: rapid.Bool().Draw(t, "restored"), Count: numbers.Draw(t, "count"),
				Edges: rapid.SliceOfN(ids, 1, 3).Draw(t, "edges"),
			}
		} else {
			s.Edge = edges.Draw(t, "edge")
		}
		if rapid.Bool().Draw(t, "wrote") {
			absent := graph.Field{Stamp: graph.Sequence(numbers.Draw(t, "stamp"))}
			s.Before.Fields = map[string]graph.Field{"a": absent, "b": {Value: jsontext.Value(values.Draw(t, "old")), Stamp: 2}}
		}
		return s
	})
	changes = rapid.Custom(func(t *rapid.T) *graph.Change {
		c := &graph.Change{
			Sequence: graph.Sequence(numbers.Draw(t, "sequence")), CommandID: ids.Draw(t, "command"),
			Actor: ids.Draw(t, "actor"),
			Type:  graph.TypeBatch, At: times.Draw(t, "at"), RequestID: stringValues.Draw(t, "request"),
			Steps: rapid.SliceOfN(steps, 1, 4).Draw(t, "steps"),
		}
		if rapid.Bool().Draw(t, "reverses") {
			c.Target = &graph.Target{Sequence: 7, CommandID: ids.Draw(t, "target"), Type: graph.TypeCreateNode}
		}
		return c
	})
)

func TestAChangeIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := changes.Draw(t, "change")
		encoded, err := graphrecord.EncodeChange(c)
		require.NoError(t, err)
		decoded, err := graphrecord.DecodeChange(encoded)
		require.NoError(t, err)
		require.Equal(t, c, decoded)
	})
}

func TestARecordThatLacksSomethingIsRefused(t *testing.T) {
	id := make([]byte, 16)
	validChange := func() *eventsv1.Change {
		return &eventsv1.Change{CommandId: id, ActorId: id, Steps: []*eventsv1.Step{{
			After: &eventsv1.Step_Node{Node: &eventsv1.Node{Id: id, Life: &eventsv1.Lifecycle{}}},
		}}}
	}
	_, err := graphrecord.ToChange(validChange())
	require.NoError(t, err)
	for name, spoil := range map[string]func(*eventsv1.Change){
		"a command without an id":     func(c *eventsv1.Change) { c.CommandId = nil },
		"a short id":                  func(c *eventsv1.Change) { c.ActorId = id[:15] },
		"a step about nothing":        func(c *eventsv1.Change) { c.Steps[0].After = nil },
		"a resource without life":     func(c *eventsv1.Change) { c.Steps[0].GetNode().Life = nil },
		"properties that are no JSON": func(c *eventsv1.Change) { c.Steps[0].GetNode().Properties = []byte("{") },
		"a cascade without a mark":    func(c *eventsv1.Change) { c.Steps[0].Cascade = &eventsv1.Cascade{} },
	} {
		c := validChange()
		spoil(c)
		_, err := graphrecord.ToChange(c)
		require.Error(t, err, name)
	}
}

func TestARefusalKeepsOnlyItsPublicPart(t *testing.T) {
	refused := fault.Wrap(
		assert.AnError, fault.Conflict, "Version mismatch",
	).With("expectedVersion", int64(1)).With("actualVersion", int64(1<<62+1))
	again := graphrecord.ToFault(graphrecord.FromFault(refused))
	require.Equal(t, fault.Conflict, again.Kind)
	require.Equal(t, "Version mismatch", again.Message)
	require.Equal(t, jsontext.Value("4611686018427387905"), again.Details["actualVersion"])
	require.NotContains(t, again.Error(), assert.AnError.Error())

	unclassified := graphrecord.FromFault(assert.AnError)
	require.True(t, proto.Equal(&eventsv1.Failure{Kind: "internal", Message: "Internal server error"}, unclassified))
}

func FuzzDecodeChange(f *testing.F) {
	f.Add([]byte{})
	example := rapid.Custom(func(t *rapid.T) []byte {
		encoded, _ := graphrecord.EncodeChange(changes.Draw(t, "change"))
		return encoded
	})
	for seed := range 4 {
		f.Add(example.Example(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := graphrecord.DecodeChange(raw)
		if err != nil {
			return
		}
		encoded, err := graphrecord.EncodeChange(c)
		require.NoError(t, err)
		again, err := graphrecord.DecodeChange(encoded)
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}
