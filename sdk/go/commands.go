package livegraph

import "context"

// CreateNode returns a command that creates a node. Without an id, the server chooses it.
func CreateNode(node NewNode) Command {
	return Command{Type: CommandTypeCreateNode, Payload: node}
}

// UpdateNode returns a command that changes a node.
func UpdateNode(id string, changes NodePatch) Command {
	changes.ID = id
	return Command{Type: CommandTypeUpdateNode, Payload: changes}
}

// DeleteNode returns a command that deletes a node with its edges.
func DeleteNode(id string) Command {
	return Command{Type: CommandTypeDeleteNode, Payload: resource{id}}
}

// CreateEdge returns a command that creates an edge. Without an id, the server chooses it.
func CreateEdge(edge NewEdge) Command {
	return Command{Type: CommandTypeCreateEdge, Payload: edge}
}

// UpdateEdge returns a command that changes an edge.
func UpdateEdge(id string, changes EdgePatch) Command {
	changes.ID = id
	return Command{Type: CommandTypeUpdateEdge, Payload: changes}
}

// DeleteEdge returns a command that deletes an edge.
func DeleteEdge(id string) Command {
	return Command{Type: CommandTypeDeleteEdge, Payload: resource{id}}
}

// UpsertNode returns a command that changes the node with the entity type and the key, or creates it. The effect of the
// result says which.
func UpsertNode(node NodeUpsert) Command {
	return Command{Type: CommandTypeUpsertNode, Payload: node}
}

// UpsertEdge returns a command that changes the edge of the type from the source to the target, or creates it.
func UpsertEdge(edge EdgeUpsert) Command {
	return Command{Type: CommandTypeUpsertEdge, Payload: edge}
}

// Undo returns a command that cancels another one.
func Undo(target UndoTarget) Command {
	return Command{Type: CommandTypeUndo, Payload: target}
}

// Redo returns a command that restores a command that was cancelled.
func Redo(target UndoTarget) Command {
	return Command{Type: CommandTypeRedo, Payload: target}
}

// IfVersion returns the command for a node or an edge that has this version. Otherwise it fails with [ErrConflict].
func (c Command) IfVersion(version int) Command {
	c.ExpectedVersion = version
	return c
}

type resource struct {
	ID string `json:"id"`
}

// UndoTarget selects the command to undo or redo. The zero value is the last command of the key's actor.
type UndoTarget struct {
	// CommandID is a command or an atomic batch of any actor.
	CommandID string `json:"commandId,omitempty"`
	// Scope is mine (the default) or workspace: the last command of the actor, or of any actor.
	Scope string `json:"scope,omitempty"`
}

// Commands change the graph. A command is sent with an idempotency key, so that a repeated request does not execute
// it twice.
type Commands struct{ t *transport }

// Execute executes a command and returns its result. The error is [ErrNotFound] if the node or the edge does not
// exist, [ErrConflict] if the id exists, the version is another one or an undo is blocked, and [ErrInvalid] if the
// command has invalid values.
func (c *Commands) Execute(ctx context.Context, command Command, options ...CallOption) (*CommandResult, error) {
	o := newCallOptions(options)
	if o.expectedVersion > 0 {
		command.ExpectedVersion = o.expectedVersion
	}
	r, err := executeCommand.withBody(command)
	if err != nil {
		return nil, err
	}
	return fetch[*CommandResult](ctx, c.t, asCommand(r, o))
}

// Batch executes 1 to 1,000 commands in order and returns the result of each. If atomic is true, all commands are
// applied or none, and the error is that of the first that fails. Otherwise the item of a command that failed has the
// status failed and a [Problem], whose method Err returns the error.
func (c *Commands) Batch(
	ctx context.Context, commands []Command, atomic bool, options ...CallOption,
) (*BatchResult, error) {
	r, err := executeBatch.withBody(struct {
		Commands []Command `json:"commands"`
		Atomic   bool      `json:"atomic"`
	}{commands, atomic})
	if err != nil {
		return nil, err
	}
	return fetch[*BatchResult](ctx, c.t, asCommand(r, newCallOptions(options)))
}

// asCommand sets the headers of a request with a command.
func asCommand(r *Request, o callOptions) *Request {
	r.set("Prefer", commandWait)
	r.set("Idempotency-Key", o.idempotencyKey)
	return r
}

// Undo cancels a command.
func (c *Commands) Undo(ctx context.Context, target UndoTarget, options ...CallOption) (*CommandResult, error) {
	return c.Execute(ctx, Undo(target), options...)
}

// Redo restores a command that was cancelled.
func (c *Commands) Redo(ctx context.Context, target UndoTarget, options ...CallOption) (*CommandResult, error) {
	return c.Execute(ctx, Redo(target), options...)
}

// Get returns the state of a command or a batch of the last 24 hours.
func (c *Commands) Get(ctx context.Context, id string) (*CommandState, error) {
	return fetch[*CommandState](ctx, c.t, getCommand.request(id))
}
