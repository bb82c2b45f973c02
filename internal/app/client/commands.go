package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	executePath = "/api/commands/execute"
	batchPath   = "/api/commands/batch"
	commandPath = "/api/commands/"
	// MaxBatch is the maximum number of commands in a batch.
	MaxBatch = 1000
)

// Command is a command on the graph, such as {"CREATE_NODE", NewNode{…}}.
type Command struct {
	Type            string `json:"type"`
	Payload         any    `json:"payload,omitempty"`
	ExpectedVersion *int64 `json:"expectedVersion,omitempty"`
}

// The types of command.
const (
	CreateNode = "CREATE_NODE"
	UpdateNode = "UPDATE_NODE"
	DeleteNode = "DELETE_NODE"
	CreateEdge = "CREATE_EDGE"
	UpdateEdge = "UPDATE_EDGE"
	DeleteEdge = "DELETE_EDGE"
)

// NewNode is the payload of CREATE_NODE. The caller chooses the id.
type NewNode struct {
	ID          uuid.UUID  `json:"id"`
	Name        string     `json:"name"`
	EntityType  string     `json:"entityType"`
	Description *string    `json:"description,omitempty"`
	Properties  Properties `json:"properties,omitempty"`
}

// NodePatch is the payload of UPDATE_NODE. Nil fields are not changed. Properties is a
// merge patch (RFC 7396): null removes a property.
type NodePatch struct {
	ID          uuid.UUID  `json:"id"`
	Name        *string    `json:"name,omitempty"`
	EntityType  *string    `json:"entityType,omitempty"`
	Description *string    `json:"description,omitempty"`
	Properties  Properties `json:"properties,omitempty"`
}

// NewEdge is the payload of CREATE_EDGE. The caller chooses the id.
type NewEdge struct {
	ID           uuid.UUID  `json:"id"`
	SourceID     uuid.UUID  `json:"sourceId"`
	TargetID     uuid.UUID  `json:"targetId"`
	RelationType string     `json:"relationType"`
	Properties   Properties `json:"properties,omitempty"`
}

// EdgePatch is the payload of UPDATE_EDGE, like [NodePatch].
type EdgePatch struct {
	ID           uuid.UUID  `json:"id"`
	RelationType *string    `json:"relationType,omitempty"`
	Properties   Properties `json:"properties,omitempty"`
}

// Resource is the payload of DELETE_NODE and DELETE_EDGE.
type Resource struct {
	ID uuid.UUID `json:"id"`
}

// Applied is the result of a command.
type Applied struct {
	CommandID uuid.UUID `json:"commandId"`
	Type      string    `json:"type"`
	Node      *Node     `json:"node"` // after the command; also a deleted node
	Edge      *Edge     `json:"edge"`
	UndoDepth int       `json:"undoDepth"`
	RedoDepth int       `json:"redoDepth"`
	Sequence  int64     `json:"sequence"` // of the workspace's journal; 0: nothing changed
}

// BatchAnswer is the result of a batch, with a result for each command in the same order.
type BatchAnswer struct {
	BatchID uuid.UUID
	Results []BatchResult
}

// BatchResult is the result of one command of a batch. Err is set if it was refused.
type BatchResult struct {
	Applied
	Err error
}

// Execute runs one command and waits for its outcome. A refused command is
// fault.NotFound, Conflict or Invalid, with the server's details.
func (c *Client) Execute(ctx context.Context, command Command) (Applied, error) {
	answer, err := post[Applied](ctx, c, executePath, command)
	return answer.Data, err
}

// Batch runs up to [MaxBatch] commands. If atomic is true, all commands are applied or
// none, and the error is that of the first refused command. Otherwise each command has its
// own result, and the error is that of the request.
func (c *Client) Batch(ctx context.Context, commands []Command, atomic bool) (BatchAnswer, error) {
	answer, err := post[batchData](ctx, c, batchPath, struct {
		Atomic   bool      `json:"atomic"`
		Commands []Command `json:"commands"`
	}{atomic, commands})
	if err != nil {
		return BatchAnswer{}, err
	}
	if len(answer.Data.Results) != len(commands) {
		return BatchAnswer{}, fault.Newf(
			fault.BadGateway, "The server answered %d of %d commands", len(answer.Data.Results), len(commands),
		)
	}
	return answer.Data.answer(answer.RequestID), nil
}

// batchData is the data in the answer to a batch.
type batchData struct {
	BatchID uuid.UUID `json:"batchId"`
	Results []struct {
		Status string   `json:"status"` // applied or failed
		Data   Applied  `json:"data"`
		Error  apiError `json:"error"`
	} `json:"results"`
}

func (d *batchData) answer(requestID string) BatchAnswer {
	a := BatchAnswer{BatchID: d.BatchID, Results: make([]BatchResult, len(d.Results))}
	for i, r := range d.Results {
		a.Results[i].Applied = r.Data
		if r.Status != applied {
			status := statusOf(r.Error.Code)
			a.Results[i].Err = r.Error.toFault(status).Because(cause(
				http.MethodPost, batchPath, status, r.Error.Code, requestID,
			))
		}
	}
	return a
}

// applied is the status of a command that was applied.
const applied = "applied"

// CommandState is the state of a command.
type CommandState struct {
	CommandID uuid.UUID `json:"commandId"`
	Status    string    `json:"status"` // pending, applied or failed
}

// CommandByID returns the state of a command or a batch of the last 24 hours.
func (c *Client) CommandByID(ctx context.Context, id uuid.UUID) (CommandState, error) {
	answer, err := do[CommandState](ctx, c, call{method: http.MethodGet, path: commandPath + url.PathEscape(id.String())})
	return answer.Data, err
}

// post sends commands with a new Idempotency-Key, so that retries do not execute them twice.
func post[T any](ctx context.Context, c *Client, path string, content any) (envelope[T], error) {
	body, err := json.Marshal(content, json.Deterministic(true))
	if err != nil {
		return envelope[T]{}, fault.Wrap(err, fault.Malformed, "The command cannot be written as JSON")
	}
	return do[T](ctx, c, call{
		method: http.MethodPost, path: path, body: body, idempotencyKey: uuid.NewString(), waitTimeout: commandTimeout,
	})
}

const (
	// commandWaitSeconds is how long the server is asked to wait for a command's outcome: the
	// maximum that it allows. commandTimeout bounds an attempt and must be longer.
	commandWaitSeconds = "30"
	commandTimeout     = 45 * time.Second
)
