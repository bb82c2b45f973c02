package commands

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	someID  = "0194a5b0-0000-7000-8000-00000000000a"
	otherID = "0194a5b0-0000-7000-8000-00000000000b"
)

func ptr[T any](v T) *T { return &v }

func TestEachCommandIsRead(t *testing.T) {
	id, other := uuid.MustParse(someID), uuid.MustParse(otherID)
	for body, want := range map[string]graph.Action{
		`{"type":"CREATE_NODE","payload":{"id":"` +
			strings.ToUpper(someID) +
			`","name":"a","entityType":"object","description":"d","properties":{ "b" : 1, "a" : null }}}`: {
			Payload: graph.CreateNode{
				ID: id, Name: "a", EntityType: graph.Object, Description: ptr("d"), Properties: []byte(`{"b":1,"a":null}`),
			},
		},
		`{"type":"CREATE_NODE","payload":{"id":"` + someID + `","name":"a","entityType":"object","description":null}}`: {
			Payload: graph.CreateNode{ID: id, Name: "a", EntityType: graph.Object},
		},
		`{"expectedVersion":7,"payload":{"id":"` +
			someID + `","name":"b","entityType":"actor","description":"d","properties":{}},"type":"UPDATE_NODE"}`: {
			Payload: graph.UpdateNode{
				ID: id, Name: ptr("b"), EntityType: ptr(graph.Actor), Description: ptr("d"), Properties: []byte(`{}`),
			}, ExpectedVersion: ptr(int64(7)),
		},
		`{"type":"UPDATE_NODE","payload":{"id":"` + someID + `","description":null}}`: {Payload: graph.UpdateNode{
			ID: id, ClearDescription: true,
		}},
		`{"type":"DELETE_NODE","payload":{"id":"` + someID + `"}}`: {Payload: graph.DeleteNode{ID: id}},
		`{"type":"CREATE_EDGE","payload":{"id":"` +
			someID + `","sourceId":"` + otherID + `","targetId":"` + someID + `","relationType":"feeds"}}`: {
			Payload: graph.CreateEdge{ID: id, SourceID: other, TargetID: id, RelationType: "feeds"},
		},
		`{"type":"UPDATE_EDGE","payload":{"id":"` + someID + `","relationType":"r","properties":{"a":null}}}`: {
			Payload: graph.UpdateEdge{ID: id, RelationType: ptr("r"), Properties: []byte(`{"a":null}`)},
		},
		`{"type":"DELETE_EDGE","payload":{"id":"` + someID + `"}}`: {Payload: graph.DeleteEdge{ID: id}},
		`{"type":"UNDO"}`:                                          {Payload: graph.Undo{}},
		`{"type":"UNDO","payload":{}}`:                             {Payload: graph.Undo{}},
		`{"type":"UNDO","payload":{"scope":"mine"}}`:               {Payload: graph.Undo{}},
		`{"type":"REDO","payload":{"scope":"workspace"}}`:          {Payload: graph.Redo{Pick: graph.Pick{Workspace: true}}},
		`{"type":"UNDO","payload":{"commandId":"` + someID + `"}}`: {Payload: graph.Undo{Pick: graph.Pick{CommandID: id}}},
	} {
		parsed, err := readCommand([]byte(body))
		require.NoError(t, err, body)
		require.NoError(t, parsed.invalid, body)
		require.Equal(t, graphrecord.Single, parsed.mode)
		require.Equal(t, []graph.Action{want}, parsed.actions, body)
	}
}

func TestUpsertsAreReadWithNewIDs(t *testing.T) {
	id := uuid.MustParse(someID)
	for body, want := range map[string]graph.Payload{
		`{"type":"UPSERT_EDGE","payload":{"source":{"key":{"n":1.50},"entityType":"actor"},"targetId":"` + someID +
			`","relationType":"r","properties":{"a":null}}}`: graph.UpsertEdge{
			Source: graph.NodeRef{Key: &graph.NodeKey{EntityType: graph.Actor, Property: "n", Value: "1.5"}},
			Target: graph.NodeRef{ID: id}, RelationType: "r", Properties: []byte(`{"a":null}`),
		},
		`{"type":"UPSERT_NODE","payload":{"key":{"serial":"a\u0062"},"entityType":"object",` +
			`"description":null}}`: graph.UpsertNode{
			Key: graph.NodeKey{EntityType: graph.Object, Property: "serial", Value: `"ab"`}, ClearDescription: true,
		},
	} {
		parsed, err := readCommand([]byte(body))
		require.NoError(t, err, body)
		require.NoError(t, parsed.invalid, body)
		switch p := parsed.actions[0].Payload.(type) {
		case graph.UpsertNode:
			require.EqualValues(t, 7, p.ID.Version())
			p.ID = uuid.Nil
			require.Equal(t, want, p)
		case graph.UpsertEdge:
			require.EqualValues(t, 7, p.ID.Version())
			p.ID = uuid.Nil
			require.Equal(t, want, p)
		}
	}
}

func TestWhatIsCreatedWithoutAnIDGetsANewOne(t *testing.T) {
	made := map[uuid.UUID]bool{}
	for range 100 {
		parsed, err := readCommand([]byte(`{"type":"CREATE_NODE","payload":{"name":"a","entityType":"object"}}`))
		require.NoError(t, err)
		id := parsed.actions[0].Payload.(graph.CreateNode).ID
		require.EqualValues(t, 7, id.Version())
		made[id] = true
	}
	require.Len(t, made, 100)
}

// A target id that is not a UUID is treated like one that does not exist, when the command is
// decided.
func TestATargetThatIsNoUUIDIsAnUnknownOne(t *testing.T) {
	for _, target := range []string{
		"", "x", "{" + someID + "}", strings.ReplaceAll(someID, "-", ""), "urn:uuid:" + someID, strings.Repeat("a", 10_000),
	} {
		for _, body := range []string{
			`{"type":"UPDATE_NODE","payload":{"id":%q,"name":"a"}}`, `{"type":"DELETE_NODE","payload":{"id":%q}}`,
			`{"type":"DELETE_EDGE","payload":{"id":%q}}`,
			`{"type":"UPDATE_EDGE","payload":{"id":%q,"relationType":"a"}}`, `{"type":"UNDO","payload":{"commandId":%q}}`,
			`{"type":"CREATE_EDGE","payload":{"sourceId":%[1]q,"targetId":%[1]q,"relationType":"a"}}`,
		} {
			parsed, err := readCommand(fmt.Appendf(nil, body, target))
			require.NoError(t, err, target)
			require.NoError(t, parsed.invalid)
		}
	}
	parsed, err := readCommand([]byte(`{"type":"UNDO","payload":{"commandId":"00000000-0000-0000-0000-000000000000"}}`))
	require.NoError(t, err)
	require.NotEqual(t, uuid.Nil, parsed.actions[0].Payload.(graph.Undo).CommandID, "nil would be the last command")
}

// failure is an invalid body and the expected error.
type failure struct {
	body  string
	kind  fault.Kind
	field string
}

func (f *failure) require(t *testing.T, parsed *parsedRequest, err error) {
	t.Helper()
	if err == nil {
		err = parsed.invalid
	}
	require.Error(t, err, f.body)
	require.Equal(t, f.kind, fault.KindOf(err), "%s: %v", f.body, err)
	var public *fault.Error
	require.True(t, errors.As(err, &public))
	require.Equal(t, f.field, public.Details["field"], f.body)
	require.NotEmpty(t, public.Details["reason"])
	require.Equal(t, f.field+": "+public.Details["reason"].(string), public.Message)
}

func TestCommandsAreReadStrictly(t *testing.T) {
	node := func(members string) string {
		return `{"type":"CREATE_NODE","payload":{"name":"a","entityType":"object"` + members + `}}`
	}
	update := func(members string) string {
		return `{"type":"UPDATE_NODE","payload":{"id":"` + someID + `"` + members + `}}`
	}
	deep := strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9)
	for _, f := range []failure{
		{``, fault.Malformed, "body"}, {`[]`, fault.Malformed, "body"}, {`null`, fault.Malformed, "body"},
		{`{}`, fault.Malformed, "type"}, {`{"type":"UNDO"}x`, fault.Malformed, "body"},
		{`{"type":null}`, fault.Malformed, "type"}, {`{"type":1}`, fault.Malformed, "type"},
		{`{"type":"FLY"}`, fault.Invalid, "type"}, {`{"type":"create_node"}`, fault.Invalid, "type"},
		{`{"type":"BATCH"}`, fault.Invalid, "type"}, {`{"Type":"UNDO"}`, fault.Malformed, "Type"},
		{`{"type":"UNDO","type":"UNDO"}`, fault.Malformed, "type"}, {`{"type":"UNDO","x":1}`, fault.Malformed, "x"},
		{`{"type":"UNDO","payload":null}`, fault.Malformed, "payload"},
		{`{"type":"UNDO","payload":[]}`, fault.Malformed, "payload"},
		{`{"type":"UNDO","payload":{"id":"x"}}`, fault.Malformed, "payload.id"},
		{`{"type":"UNDO","payload":{"scope":"all"}}`, fault.Invalid, "payload.scope"},
		{`{"type":"UNDO","payload":{"scope":1}}`, fault.Malformed, "payload.scope"},
		{`{"type":"UNDO","payload":{"scope":"mine","commandId":"` + someID + `"}}`, fault.Invalid, "payload.scope"},
		{`{"type":"UNDO","expectedVersion":1}`, fault.Invalid, "expectedVersion"},
		{`{"type":"CREATE_NODE"}`, fault.Malformed, "payload"},
		{`{"type":"CREATE_NODE","payload":"x"}`, fault.Malformed, "payload"},
		{`{"type":"CREATE_NODE","payload":{}}`, fault.Malformed, "payload.name"},
		{`{"type":"CREATE_NODE","payload":{"name":"a"}}`, fault.Malformed, "payload.entityType"},
		{`{"type":"CREATE_NODE","payload":{"name":null,"entityType":"object"}}`, fault.Malformed, "payload.name"},
		{`{"type":"CREATE_NODE","payload":{"sourceId":"` + someID + `"}}`, fault.Malformed, "payload.sourceId"},
		{`{"type":"CREATE_NODE","payload":{"name":"a","entityType":"thing"}}`, fault.Invalid, "payload.entityType"},
		{`{"type":"CREATE_NODE","payload":{"name":"","entityType":"object"}}`, fault.Invalid, "payload.name"},
		{
			`{"type":"CREATE_NODE","payload":{"name":"` + strings.Repeat("é", 513) + `","entityType":"object"}}`, fault.Invalid,
			"payload.name",
		},
		{`{"type":"CREATE_NODE","payload":{"name":"a\u0000","entityType":"object"}}`, fault.Invalid, "payload.name"},
		{`{"type":"CREATE_NODE","payload":{"name":"a\n","entityType":"object"}}`, fault.Invalid, "payload.name"},
		{node(`,"version":1`), fault.Malformed, "payload.version"}, {node(`,"id":"x"`), fault.Invalid, "payload.id"},
		{node(`,"id":null`), fault.Malformed, "payload.id"}, {node(`,"id":7`), fault.Malformed, "payload.id"},
		{node(`,"id":"{` + someID + `}"`), fault.Invalid, "payload.id"},
		{node(`,"description":7`), fault.Malformed, "payload.description"},
		{node(`,"description":"` + strings.Repeat("x", 64<<10+1) + `"`), fault.Invalid, "payload.description"},
		{node(`,"properties":null`), fault.Malformed, "payload.properties"},
		{node(`,"properties":[]`), fault.Malformed, "payload.properties"},
		{node(`,"properties":{"a":1,"a":2}`), fault.Malformed, "payload.properties.a"},
		{node(`,"properties":{"a":1e400}`), fault.Invalid, "payload.properties"},
		{node(`,"properties":` + deep), fault.Invalid, "payload.properties"},
		{node(`,"properties":{"a":"` + strings.Repeat("x", 32<<10) + `"}`), fault.Invalid, "payload.properties"},
		{node(`,"properties":{"a":"` + strings.Repeat("x", 300<<10) + `"}`), fault.Invalid, "payload.properties"},
		{node(`,"properties":{"` + "\xff" + `":1}`), fault.Malformed, "payload.properties"},
		{node(`,"properties":{"a":"\ud800"}`), fault.Malformed, "payload.properties.a"},
		{node(`},"expectedVersion":1,"x":{`), fault.Malformed, "x"},
		{
			`{"type":"CREATE_NODE","expectedVersion":1,"payload":{"name":"a","entityType":"object"}}`, fault.Invalid,
			"expectedVersion",
		},
		{update(``), fault.Invalid, "payload"},
		{`{"type":"UPDATE_NODE","payload":{"name":"a"}}`, fault.Malformed, "payload.id"},
		{update(`,"name":null`), fault.Malformed, "payload.name"},
		{update(`,"relationType":"x"`), fault.Malformed, "payload.relationType"},
		{update(`,"entityType":"Object"`), fault.Invalid, "payload.entityType"},
		{
			`{"type":"UPDATE_NODE","expectedVersion":0,"payload":{"id":"` + someID + `","name":"a"}}`, fault.Invalid,
			"expectedVersion",
		}, {
			`{"type":"UPDATE_NODE","expectedVersion":-1,"payload":{"id":"` + someID + `","name":"a"}}`, fault.Invalid,
			"expectedVersion",
		},
		{
			`{"type":"UPDATE_NODE","expectedVersion":9223372036854775808,"payload":{"id":"` + someID + `","name":"a"}}`,
			fault.Invalid, "expectedVersion",
		},
		{
			`{"type":"UPDATE_NODE","expectedVersion":"1","payload":{"id":"` + someID + `","name":"a"}}`, fault.Malformed,
			"expectedVersion",
		}, {
			`{"type":"UPDATE_NODE","expectedVersion":1.5,"payload":{"id":"` + someID + `","name":"a"}}`, fault.Malformed,
			"expectedVersion",
		},
		{
			`{"type":"UPDATE_NODE","expectedVersion":null,"payload":{"id":"` + someID + `","name":"a"}}`, fault.Malformed,
			"expectedVersion",
		},
		{`{"type":"DELETE_NODE","payload":{}}`, fault.Malformed, "payload.id"},
		{`{"type":"DELETE_EDGE","payload":{"id":["` + someID + `"]}}`, fault.Malformed, "payload.id"},
		{
			`{"type":"CREATE_EDGE","payload":{"sourceId":"` + someID + `","relationType":"a"}}`, fault.Malformed,
			"payload.targetId",
		}, {
			`{"type":"CREATE_EDGE","payload":{"sourceId":"x","targetId":"x","relationType":""}}`, fault.Invalid,
			"payload.relationType",
		},
		{
			`{"type":"CREATE_EDGE","payload":{"sourceId":"x","targetId":"x","relationType":"` + strings.Repeat("x", 129) + `"}}`,
			fault.Invalid, "payload.relationType",
		}, {`{"type":"UPDATE_EDGE","payload":{"id":"x"}}`, fault.Invalid, "payload"},
	} {
		parsed, err := readCommand([]byte(f.body))
		f.require(t, parsed, err)
	}
}

func TestBatchesAreReadStrictly(t *testing.T) {
	const good = `{"type":"CREATE_NODE","payload":{"name":"a","entityType":"object"}}`
	const bad = `{"type":"CREATE_NODE","payload":{"name":"","entityType":"object"}}`
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat(good+",", n), ",") }
	for _, f := range []failure{
		{`{}`, fault.Malformed, "commands"}, {`{"commands":null}`, fault.Malformed, "commands"},
		{`{"commands":{}}`, fault.Malformed, "commands"}, {`{"commands":[]}`, fault.Invalid, "commands"},
		{`{"commands":[` + many(1001) + `]}`, fault.Invalid, "commands"},
		{`{"commands":[` + good + `],"atomic":1}`, fault.Malformed, "atomic"},
		{`{"commands":[` + good + `],"atomic":null}`, fault.Malformed, "atomic"},
		{`{"commands":[` + good + `,7]}`, fault.Malformed, "commands[1]"},
		{`{"commands":[null]}`, fault.Malformed, "commands[0]"}, {`{"commands":[{}]}`, fault.Malformed, "commands[0].type"},
		{`{"commands":[` + good + `,{"type":"UNDO"}]}`, fault.Invalid, "commands[1].type"},
		{`{"atomic":false,"commands":[{"type":"REDO"}]}`, fault.Invalid, "commands[0].type"},
		{`{"commands":[{"type":"X"}]}`, fault.Invalid, "commands[0].type"},
		{`{"commands":[` + good + `,` + bad + `]}`, fault.Invalid, "commands[1].payload.name"},
		{`{"commands":[{"type":"DELETE_NODE","payload":{"x":1}}]}`, fault.Malformed, "commands[0].payload.x"},
		{`{"commands":[` + bad + `,{"type":"DELETE_NODE"}]}`, fault.Malformed, "commands[1].payload"},
		{
			`{"commands":[{"type":"CREATE_NODE","payload":{"id":"x","name":"a","entityType":"object"}}]}`, fault.Invalid,
			"commands[0].payload.id",
		},
		{
			`{"commands":[{"type":"CREATE_NODE","payload":{"name":"\u0000","entityType":"object"}}]}`, fault.Invalid,
			"commands[0].payload.name",
		},
	} {
		parsed, err := readBatch([]byte(f.body))
		f.require(t, parsed, err)
	}

	parsed, err := readBatch([]byte(`{"commands":[` + many(1000) + `]}`))
	require.NoError(t, err)
	require.NoError(t, parsed.invalid)
	require.Equal(t, graphrecord.Atomic, parsed.mode)
	require.Len(t, parsed.actions, 1000)

	parsed, err = readBatch([]byte(`{"atomic":false,"commands":[` + bad + `,` + good + `]}`))
	require.NoError(t, err)
	require.NoError(t, parsed.invalid, "each is answered by itself")
	require.Equal(t, graphrecord.Separate, parsed.mode)
}

func TestTheScopesAreThoseOfTheCommands(t *testing.T) {
	nodes, edges := []request.Scope{request.WriteNodes}, []request.Scope{request.WriteEdges}
	for want, actions := range map[string][]graph.Action{
		fmt.Sprint([][]request.Scope{nodes}): {
			{Payload: graph.CreateNode{}}, {Payload: graph.DeleteNode{}}, {Payload: graph.UpdateNode{}},
			{Payload: graph.UpsertNode{}},
		},
		fmt.Sprint([][]request.Scope{edges}): {
			{Payload: graph.CreateEdge{}}, {Payload: graph.DeleteEdge{}}, {Payload: graph.UpdateEdge{}},
			{Payload: graph.UpsertEdge{}},
		},
		fmt.Sprint([][]request.Scope{nodes, edges}): {{Payload: graph.CreateEdge{}}, {Payload: graph.DeleteNode{}}},
		fmt.Sprint([][]request.Scope{writeScopes}):  {{Payload: graph.Undo{}}},
	} {
		require.Equal(t, want, fmt.Sprint((&parsedRequest{actions: actions}).scopes()))
	}
}

func FuzzReadCommand(f *testing.F) {
	for _, body := range []string{
		`{"type":"CREATE_NODE","payload":{"id":"` +
			someID + `","name":"a","entityType":"object","description":"d","properties":{"a":[1,2.5,null]}}}`,
		`{"type":"UPDATE_NODE","payload":{"id":"` +
			someID + `","description":null,"properties":{"a":null}},"expectedVersion":3}`,
		`{"type":"UPSERT_NODE","payload":{"key":{"a":1},"entityType":"object"}}`,
		`{"type":"UPSERT_EDGE","payload":{"source":{"key":{"a":1},"entityType":"actor"},"targetId":"x","relationType":"r"}}`,
		`{"type":"CREATE_EDGE","payload":{"sourceId":"x","targetId":"x","relationType":"r"}}`,
		`{"type":"UNDO","payload":{"scope":"workspace"}}`, `{"type":"REDO"}`,
	} {
		f.Add([]byte(body), false)
		f.Add([]byte(`{"commands":[`+body+`],"atomic":false}`), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, batch bool) {
		read := readCommand
		if batch {
			read = readBatch
		}
		parsed, err := read(body)
		if err == nil {
			err = parsed.invalid
		}
		if err != nil {
			require.Contains(t, []fault.Kind{fault.Malformed, fault.Invalid}, fault.KindOf(err), "%v", err)
			return
		}
		r := graphrecord.Request{Mode: parsed.mode, Actions: parsed.actions}
		if parsed.mode == graphrecord.Separate {
			r.CommandIDs = make([]uuid.UUID, len(parsed.actions))
		}
		encoded, err := graphrecord.EncodeRequest(&r)
		require.NoError(t, err, "what is accepted can be written down")
		again, err := graphrecord.DecodeRequest(encoded)
		require.NoError(t, err)
		require.Equal(t, parsed.actions, again.Actions)
	})
}
