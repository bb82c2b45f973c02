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

// commandBody is a command as it is written in JSON.
type commandBody struct {
	Type            *string        `json:"type"`
	Payload         jsontext.Value `json:"payload"`
	ExpectedVersion *int64         `json:"expectedVersion"`
}

// batchBody is a batch. Its commands are read one by one: there must not be more of
// them in memory than a batch may have.
type batchBody struct {
	Commands jsontext.Value `json:"commands"`
	Atomic   *bool          `json:"atomic"`
}

// asked is what a request asks for, as far as it can be told from the body alone.
type asked struct {
	mode    graphrecord.Mode
	actions []graph.Action
	// invalid is the first value that breaks a rule, to be answered when nothing
	// else is in the way; nil: none does.
	invalid error
}

// readCommand reads the body of POST /api/commands/execute.
func readCommand(body []byte) (*asked, error) {
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
	return &asked{mode: graphrecord.Single, actions: []graph.Action{action}, invalid: invalid}, nil
}

// action reads what the command is to do. invalid is a value that breaks a rule; the
// action may then have no payload.
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

// readBatch reads the body of POST /api/commands/batch.
func readBatch(body []byte) (*asked, error) {
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
	a := &asked{mode: graphrecord.Atomic}
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

// readCommands reads the commands of a batch, of too many the first alone, and counts
// them.
func (a *asked) readCommands(array jsontext.Value) (count int, err error) {
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
		if err := a.readOne(raw, count); err != nil {
			return count, err
		}
	}
	return count, nil
}

func (a *asked) readOne(raw jsontext.Value, index int) error {
	if raw.Kind() != '{' {
		return at(index, fault.Field(fault.Malformed, "body", "must be an object"))
	}
	var c commandBody
	if err := request.DecodePart(raw, "", &c); err != nil {
		return at(index, err)
	}
	action, invalid, err := c.action()
	if err != nil {
		return at(index, err)
	}
	if invalid != nil && a.invalid == nil {
		a.invalid = at(index, invalid)
	}
	a.actions = append(a.actions, action)
	return nil
}

// at reports which command of a batch an error is about.
func at(index int, err error) error {
	return reply.Public(request.Under(fmt.Sprintf("commands[%d]", index), err)).With("index", index)
}

// validate reports what is wrong with a batch whose commands could all be read. Of one
// that is not atomic each command is answered by itself, so here only what no command
// of a batch may be counts.
func (a *asked) validate() error {
	if a.mode == graphrecord.Atomic {
		return graph.Batch{Actions: a.actions}.Validate()
	}
	for i, action := range a.actions {
		switch action.Payload.(type) {
		case graph.Undo, graph.Redo:
			return at(i, fault.Field(fault.Invalid, "type", "is not allowed inside a batch"))
		}
	}
	return nil
}

// scopes lists what the request needs: for UNDO and REDO that of what they are about
// is known only when they are decided.
func (a *asked) scopes() [][]request.Scope {
	nodes, edges, either := false, false, false
	for _, action := range a.actions {
		switch action.Payload.(type) {
		case graph.CreateNode, graph.UpdateNode, graph.DeleteNode:
			nodes = true
		case graph.CreateEdge, graph.UpdateEdge, graph.DeleteEdge:
			edges = true
		default:
			either = true
		}
	}
	var needed [][]request.Scope
	if nodes {
		needed = append(needed, []request.Scope{request.WriteNodes})
	}
	if edges {
		needed = append(needed, []request.Scope{request.WriteEdges})
	}
	if either {
		needed = append(needed, writeScopes)
	}
	return needed
}

// writeScopes are the scopes of which each command needs one.
var writeScopes = []request.Scope{request.WriteNodes, request.WriteEdges}
