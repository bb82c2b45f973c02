package graph_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

func serial(value string) graph.NodeKey {
	return graph.NodeKey{EntityType: graph.Object, Property: "serial", Value: value}
}

func TestAnUpsertIsRecordedAsTheCommandThatItWas(t *testing.T) {
	f := newFixture(t)
	upsert := graph.UpsertNode{ID: nodeID(1), Key: serial(`"a"`), Properties: []byte(`{"n":1}`)}
	made, err := f.try(1, upsert)
	require.NoError(t, err)
	require.Equal(t, []any{graph.TypeCreateNode, graph.TypeCreateNode, graph.Created}, []any{
		made.Change.Type, made.Change.Steps[0].Type, made.Results[0].Effect,
	})
	require.Equal(t, "a", f.Nodes[nodeID(1)].Name)
	upsert.ID = nodeID(2)
	same, err := f.try(1, upsert)
	require.NoError(t, err)
	require.Nil(t, same.Change)
	require.Equal(t, []any{graph.Unchanged, nodeID(1)}, []any{same.Results[0].Effect, same.Results[0].Node.ID})
	upsert.Properties = []byte(`{"n":null}`)
	changed, err := f.try(2, upsert)
	require.NoError(t, err)
	require.Equal(t, []any{graph.TypeUpdateNode, graph.Updated}, []any{changed.Change.Type, changed.Results[0].Effect})
	require.Equal(t, `{"serial":"a"}`, string(f.Nodes[nodeID(1)].Properties.Encode()))
	require.Len(t, f.blocked(1, graph.Undo{}), 1, "another actor has changed it")
	f.do(2, graph.Undo{})
	f.do(1, graph.Undo{})
	require.True(t, f.Nodes[nodeID(1)].Deleted)
}

func TestAKeyThatSeveralNodesHaveIsAmbiguous(t *testing.T) {
	f := newFixture(t)
	f.do(1, graph.UpsertNode{ID: nodeID(1), Key: serial("1")})
	f.do(1, graph.Undo{})
	f.do(2, graph.UpsertNode{ID: nodeID(2), Key: serial("1")})
	f.do(1, graph.Redo{})
	for field, p := range map[string]graph.Payload{
		"payload.key": graph.UpsertNode{ID: nodeID(3), Key: serial("1")},
		"payload.target.key": graph.UpsertEdge{
			ID: edgeID(1), Source: graph.NodeRef{ID: nodeID(1)}, Target: graph.NodeRef{Key: new(serial("1"))}, RelationType: "r",
		},
	} {
		_, err := f.try(1, p)
		require.Equal(t, fault.Conflict, fault.KindOf(err))
		require.Equal(t, map[string]any{
			"reason": "ambiguous", "field": field, "ids": []uuid.UUID{nodeID(1), nodeID(2)},
		}, publicError(t, err).Details)
	}
}

func TestTheNameOfACreatedNodeFitsIntoItsLimit(t *testing.T) {
	f := newFixture(t)
	f.do(1, graph.UpsertNode{ID: nodeID(1), Key: serial(`"` + strings.Repeat("ö", graph.MaxKeyValue) + `"`)})
	require.Equal(t, strings.Repeat("ö", graph.MaxName), f.Nodes[nodeID(1)].Name)
}

func TestUpsertsRequireTheScopeOfWhatTheyWrite(t *testing.T) {
	f := newFixture(t)
	f.do(1, node(1))
	for required, p := range map[string]graph.Payload{
		"write:nodes": graph.UpsertNode{ID: nodeID(2), Key: serial("1")},
		"write:edges": graph.UpsertEdge{
			ID: edgeID(1), Source: graph.NodeRef{ID: nodeID(1)}, Target: graph.NodeRef{ID: nodeID(1)}, RelationType: "r",
		},
	} {
		for _, scope := range []string{"write:nodes", "write:edges"} {
			f.count++
			_, err := f.Apply(graph.Command{
				ID: commandID(f.count), Origin: graph.Origin{Actor: actorID(1), Scopes: []string{scope}},
				Action: graph.Action{Payload: p},
			})
			if scope == required {
				require.NoError(t, err)
			} else {
				require.Equal(t, []string{required}, publicError(t, err).Details["required"])
			}
		}
	}
}

func TestInvalidUpsertsAreRefused(t *testing.T) {
	for _, c := range []struct {
		field string
		p     graph.Payload
	}{
		{"payload.entityType", graph.UpsertNode{Key: graph.NodeKey{EntityType: "robot", Property: "a", Value: "1"}}},
		{"payload.key", graph.UpsertNode{Key: graph.NodeKey{EntityType: graph.Actor, Value: "1"}}},
		{"payload.key", graph.UpsertNode{Key: serial(`""`)}}, {"payload.key", graph.UpsertNode{Key: serial("true")}},
		{"payload.key", graph.UpsertNode{Key: serial("")}}, {"payload.key", graph.UpsertNode{Key: serial("1.50")}},
		{"payload.key", graph.UpsertNode{Key: serial(`"\n"`)}}, {"payload.key", graph.UpsertNode{Key: serial("[1]")}},
		{"payload.key", graph.UpsertNode{Key: serial(`"` + strings.Repeat("x", graph.MaxKeyValue+1) + `"`)}},
		{"payload.name", graph.UpsertNode{Key: serial("1"), Name: new("")}},
		{"payload.description", graph.UpsertNode{Key: serial("1"), Description: new("\x00")}},
		{"payload.properties", graph.UpsertNode{Key: serial("1"), Properties: []byte(`{"serial":2}`)}},
		{"payload.properties", graph.UpsertNode{Key: serial("1"), Properties: []byte(`{"serial":null}`)}},
		{"payload.relationType", graph.UpsertEdge{}},
		{"payload.source.entityType", graph.UpsertEdge{Source: graph.NodeRef{Key: &graph.NodeKey{}}, RelationType: "r"}},
		{"payload.target.key", graph.UpsertEdge{Target: graph.NodeRef{Key: new(serial("[]"))}, RelationType: "r"}},
	} {
		err := graph.Action{Payload: c.p}.Validate()
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%+v", c.p)
		require.Equal(t, c.field, publicError(t, err).Details["field"], "%+v", c.p)
	}
	one := int64(1)
	require.Error(t, graph.Action{Payload: graph.UpsertNode{Key: serial("1")}, ExpectedVersion: &one}.Validate())
	require.NoError(t, graph.Action{Payload: graph.UpsertNode{
		Key: serial("1.5"), Properties: []byte(`{"serial":1.50}`),
	}}.Validate())
}

func TestKeysAreParsedToCanonicalValues(t *testing.T) {
	for raw, want := range map[string]string{`1.50`: "1.5", `1e2`: "100", `"\u0061"`: `"a"`} {
		key, err := graph.ParseNodeKey(graph.Object, "serial", jsontext.Value(raw), "payload.key")
		require.NoError(t, err)
		require.Equal(t, serial(want), key)
	}
	for _, raw := range []string{`null`, `false`, `{}`, `[1]`, `1e999`, `"\u0000"`, `"`} {
		_, err := graph.ParseNodeKey(graph.Object, "serial", jsontext.Value(raw), "payload.key")
		require.Equal(t, fault.Invalid, fault.KindOf(err), raw)
	}
}
