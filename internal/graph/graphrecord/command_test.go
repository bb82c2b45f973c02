package graphrecord_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// optional draws a pointer to a value, or nil.
func optional[T any](generator *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.Ptr(generator, true)
}

var (
	types   = rapid.Map(stringValues, func(s string) graph.EntityType { return graph.EntityType(s) })
	patches = rapid.Map(rapid.SampledFrom([]string{"", "{}", `{"a":null}`, `{ "b" : 1 }`}), func(s string) jsontext.Value {
		if s == "" {
			return nil
		}
		return jsontext.Value(s)
	})
	picks = rapid.Custom(func(t *rapid.T) graph.Pick {
		p := graph.Pick{Workspace: rapid.Bool().Draw(t, "workspace")}
		if rapid.Bool().Draw(t, "one") {
			p.CommandID = ids.Draw(t, "command")
		}
		return p
	})
	keys = rapid.Custom(func(t *rapid.T) graph.NodeKey {
		return graph.NodeKey{
			EntityType: types.Draw(t, "type"), Property: stringValues.Draw(t, "property"), Value: values.Draw(t, "value"),
		}
	})
	refs = rapid.Custom(func(t *rapid.T) graph.NodeRef {
		if rapid.Bool().Draw(t, "by key") {
			key := keys.Draw(t, "key")
			return graph.NodeRef{Key: &key}
		}
		return graph.NodeRef{ID: ids.Draw(t, "id")}
	})
	payloads = rapid.Custom(func(t *rapid.T) graph.Payload {
		id, other, patch := ids.Draw(t, "id"), ids.Draw(t, "other"), patches.Draw(t, "patch")
		name := stringValues.Draw(t, "name")
		description, newName := optional(stringValues).Draw(t, "description"), optional(stringValues).Draw(t, "text")
		return rapid.SampledFrom([]graph.Payload{
			graph.CreateNode{ID: id, Name: name, EntityType: types.Draw(t, "type"), Description: description, Properties: patch},
			graph.UpdateNode{
				ID: id, Name: newName, EntityType: optional(types).Draw(t, "type?"), Description: description,
				ClearDescription: rapid.Bool().Draw(t, "clear"), Properties: patch,
			},
			graph.DeleteNode{ID: id},
			graph.CreateEdge{ID: id, SourceID: other, TargetID: id, RelationType: name, Properties: patch},
			graph.UpdateEdge{ID: id, RelationType: newName, Properties: patch},
			graph.DeleteEdge{ID: id},
			graph.UpsertNode{
				ID: id, Key: keys.Draw(t, "key"), Name: newName, Description: description,
				ClearDescription: rapid.Bool().Draw(t, "clear"), Properties: patch,
			},
			graph.UpsertEdge{
				ID: id, Source: refs.Draw(t, "source"), Target: refs.Draw(t, "target"), RelationType: name, Properties: patch,
			},
			graph.Undo{Pick: picks.Draw(t, "undo")},
			graph.Redo{Pick: picks.Draw(t, "redo")},
		}).Draw(t, "payload")
	})
	actions = rapid.Custom(func(t *rapid.T) graph.Action {
		return graph.Action{Payload: payloads.Draw(t, "payload"), ExpectedVersion: optional(rapid.Int64()).Draw(t, "version")}
	})
	requests = rapid.Custom(func(t *rapid.T) *graphrecord.Request {
		r := &graphrecord.Request{
			Workspace: ids.Draw(t, "workspace"), ID: ids.Draw(t, "id"),
			Origin: graph.Origin{
				Actor: ids.Draw(t, "actor"), Scopes: rapid.SliceOfN(stringValues, 1, 3).Draw(t, "scopes"),
				AcceptedAt: times.Draw(t, "at"), RequestID: stringValues.Draw(t, "request"),
			},
			Mode: rapid.SampledFrom([]graphrecord.Mode{
				graphrecord.Single, graphrecord.Atomic, graphrecord.Separate,
			}).Draw(t, "mode"),
		}
		n := 1
		if r.Mode != graphrecord.Single {
			n = rapid.IntRange(1, 4).Draw(t, "commands")
		}
		r.Actions = rapid.SliceOfN(actions, n, n).Draw(t, "actions")
		if r.Mode == graphrecord.Separate {
			r.CommandIDs = rapid.SliceOfN(ids, n, n).Draw(t, "ids")
		}
		return r
	})
)

func TestARequestComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := requests.Draw(t, "request")
		encoded, err := graphrecord.EncodeRequest(want)
		require.NoError(t, err)
		got, err := graphrecord.DecodeRequest(encoded)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestARequestReturnsItsCommandsWithTheirIDs(t *testing.T) {
	action := graph.Action{Payload: graph.DeleteNode{ID: uuid.New()}}
	r := graphrecord.Request{
		Mode: graphrecord.Single, ID: uuid.New(), Origin: graph.Origin{RequestID: "req_1"}, Actions: []graph.Action{action},
	}
	require.Equal(t, []graph.Command{{ID: r.ID, Origin: r.Origin, Action: action}}, r.Commands())

	r.Mode, r.Actions, r.CommandIDs = graphrecord.Separate, []graph.Action{action, action}, []uuid.UUID{
		uuid.New(), uuid.New(),
	}
	require.Equal(t, r.CommandIDs[1], r.Commands()[1].ID)
	require.Equal(t, graph.Batch{ID: r.ID, Origin: r.Origin, Actions: r.Actions}, r.Batch())
}

func TestARequestWithoutWhatItNeedsIsRefused(t *testing.T) {
	id := make([]byte, 16)
	command := func(id []byte) *eventsv1.Command {
		return &eventsv1.Command{Id: id, Payload: &eventsv1.Command_DeleteNode{
			DeleteNode: &eventsv1.DeleteNode{Id: make([]byte, 16)},
		}}
	}
	validRecord := func() *eventsv1.CommandRecord {
		return &eventsv1.CommandRecord{
			WorkspaceId: id, ActorId: id, Mode: eventsv1.Mode_MODE_SINGLE, Commands: []*eventsv1.Command{command(id)},
		}
	}
	for name, spoil := range map[string]func(*eventsv1.CommandRecord){
		"an id":       func(r *eventsv1.CommandRecord) { r.WorkspaceId = id[:15] },
		"the mode":    func(r *eventsv1.CommandRecord) { r.Mode = 7 },
		"exactly one": func(r *eventsv1.CommandRecord) { r.Commands = append(r.Commands, command(id)) },
		"no known":    func(r *eventsv1.CommandRecord) { r.Commands[0].Payload = nil },
		"not allow":   func(r *eventsv1.CommandRecord) { r.BatchId = id },
		"16 bytes":    func(r *eventsv1.CommandRecord) { r.Mode = eventsv1.Mode_MODE_SEPARATE },
		"is set":      func(r *eventsv1.CommandRecord) { r.Mode, r.BatchId = eventsv1.Mode_MODE_ATOMIC, id },
	} {
		record := validRecord()
		spoil(record)
		encoded, err := proto.Marshal(record)
		require.NoError(t, err)
		_, err = graphrecord.DecodeRequest(encoded)
		require.ErrorContains(t, err, name)
	}
	encoded, err := proto.Marshal(validRecord())
	require.NoError(t, err)
	_, err = graphrecord.DecodeRequest(encoded)
	require.NoError(t, err)
}

func FuzzDecodeRequest(f *testing.F) {
	for i := range 20 {
		encoded, err := graphrecord.EncodeRequest(requests.Example(i))
		require.NoError(f, err)
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		r, err := graphrecord.DecodeRequest(encoded)
		if err != nil {
			return
		}
		again, err := graphrecord.EncodeRequest(r)
		require.NoError(t, err)
		same, err := graphrecord.DecodeRequest(again)
		require.NoError(t, err)
		require.Equal(t, r, same)
	})
}
