package commands

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// commandBody is the JSON form of a command.
type commandBody struct {
	Type            *string        `json:"type"`
	Payload         jsontext.Value `json:"payload"`
	ExpectedVersion *int64         `json:"expectedVersion"`
}

// batchBody is the JSON form of a batch. Its commands are decoded one by one, so that no more
// of them are in memory than a batch may have.
type batchBody struct {
	Commands jsontext.Value `json:"commands"`
	Atomic   *bool          `json:"atomic"`
}

// parsedRequest is a request as parsed from its body.
type parsedRequest struct {
	mode    graphrecord.Mode
	actions []graph.Action
	// invalid describes the first value that breaks a rule. It is returned only if there
	// is no other error. nil: all values are valid.
	invalid error
}

// readCommand parses the body of POST /api/commands/execute.
func readCommand(body []byte) (*parsedRequest, error) {
	var c commandBody
	if err := request.DecodeJSON(body, &c); err != nil {
		return nil, err
	}
	action, invalid, err := c.action()
	if err != nil {
		return nil, err
	}
	if invalid == nil {
		invalid = action.Validate()
	}
	return &parsedRequest{mode: graphrecord.Single, actions: []graph.Action{action}, invalid: invalid}, nil
}

// action returns the action of the command. If a value breaks a rule, invalid describes it,
// and the action may have no payload.
func (c *commandBody) action() (action graph.Action, invalid, err error) {
	if c.Type == nil {
		return action, nil, fault.Field(fault.Malformed, "type", "is required")
	}
	reader := payloadReader{raw: c.Payload}
	payload, err := reader.read(graph.Type(*c.Type))
	if err != nil {
		return action, nil, err
	}
	return graph.Action{Payload: payload, ExpectedVersion: c.ExpectedVersion}, reader.invalid, nil
}

// readBatch parses the body of POST /api/commands/batch.
func readBatch(body []byte) (*parsedRequest, error) {
	var b batchBody
	if err := request.DecodeJSON(body, &b); err != nil {
		return nil, err
	}
	if b.Commands == nil {
		return nil, fault.Field(fault.Malformed, "commands", "is required")
	}
	if b.Commands.Kind() != '[' {
		return nil, fault.Field(fault.Malformed, "commands", "must be an array")
	}
	a := &parsedRequest{mode: graphrecord.Atomic}
	if b.Atomic != nil && !*b.Atomic {
		a.mode = graphrecord.Separate
	}
	count, err := a.readCommands(b.Commands)
	if err != nil {
		return nil, err
	}
	switch {
	case count == 0 || count > graph.MaxBatch:
		a.invalid = fault.Field(fault.Invalid, "commands", fmt.Sprintf(
			"must have 1 to %d commands, has %d", graph.MaxBatch, count,
		))
	case a.invalid == nil:
		a.invalid = a.validate()
	}
	return a, nil
}

// readCommands parses the commands of a batch and returns their number. Commands beyond
// [graph.MaxBatch] are only counted.
func (a *parsedRequest) readCommands(array jsontext.Value) (count int, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(array))
	if _, err := dec.ReadToken(); err != nil {
		return 0, fmt.Errorf("reading commands: %w", err)
	}
	for ; dec.PeekKind() != ']'; count++ {
		raw, err := dec.ReadValue()
		if err != nil {
			return count, fmt.Errorf("reading command %d: %w", count, err)
		}
		if count >= graph.MaxBatch {
			continue
		}
		if err := a.addCommand(raw, count); err != nil {
			return count, err
		}
	}
	return count, nil
}

func (a *parsedRequest) addCommand(raw jsontext.Value, index int) error {
	if raw.Kind() != '{' {
		return withIndex(index, fault.Field(fault.Malformed, "body", "must be an object"))
	}
	var c commandBody
	if err := request.DecodePart(raw, "", &c); err != nil {
		return withIndex(index, err)
	}
	action, invalid, err := c.action()
	if err != nil {
		return withIndex(index, err)
	}
	if invalid != nil && a.invalid == nil {
		a.invalid = withIndex(index, invalid)
	}
	a.actions = append(a.actions, action)
	return nil
}

// withIndex adds to an error the index of the command of a batch that caused it.
func withIndex(index int, err error) error {
	return reply.Public(request.PrefixField(fmt.Sprintf("commands[%d]", index), err)).With("index", index)
}

// validate validates a batch whose commands could all be parsed. Each command of a non-atomic
// batch has its own result, so here only types that no batch may contain are refused.
func (a *parsedRequest) validate() error {
	if a.mode == graphrecord.Atomic {
		return graph.Batch{Actions: a.actions}.Validate()
	}
	for i, action := range a.actions {
		switch action.Payload.(type) {
		case graph.Undo, graph.Redo:
			return withIndex(i, fault.Field(fault.Invalid, "type", "is not allowed inside a batch"))
		}
	}
	return nil
}

// scopes lists the scopes that the request requires. For UNDO and REDO either write scope is
// sufficient here: what they change is known only when they are decided.
func (a *parsedRequest) scopes() [][]request.Scope {
	nodes, edges, undoRedo := false, false, false
	for _, action := range a.actions {
		switch action.Payload.(type) {
		case graph.CreateNode, graph.UpdateNode, graph.DeleteNode, graph.UpsertNode:
			nodes = true
		case graph.CreateEdge, graph.UpdateEdge, graph.DeleteEdge, graph.UpsertEdge:
			edges = true
		default:
			undoRedo = true
		}
	}
	var needed [][]request.Scope
	if nodes {
		needed = append(needed, []request.Scope{request.WriteNodes})
	}
	if edges {
		needed = append(needed, []request.Scope{request.WriteEdges})
	}
	if undoRedo {
		needed = append(needed, writeScopes)
	}
	return needed
}

// writeScopes are the scopes of which each command requires one.
var writeScopes = []request.Scope{request.WriteNodes, request.WriteEdges}
