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
	// LargestBatch is the most commands that the server takes at once.
	LargestBatch = 1000
)

// Command is one command on the graph, such as {"CREATE_NODE", NewNode{…}}.
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

// NodePatch is the payload of UPDATE_NODE: what is nil stays. Properties is a
// merge patch (RFC 7396): null removes.
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

// Applied is what a command did.
type Applied struct {
	CommandID uuid.UUID `json:"commandId"`
	Type      string    `json:"type"`
	Node      *Node     `json:"node"` // after the command, a deleted one included
	Edge      *Edge     `json:"edge"`
	UndoDepth int       `json:"undoDepth"`
	RedoDepth int       `json:"redoDepth"`
	Sequence  int64     `json:"sequence"` // of the workspace's journal; 0: nothing changed
}

// BatchAnswer is what came of a batch: a result for each command, in their order.
type BatchAnswer struct {
	BatchID uuid.UUID
	Results []BatchResult
}

// BatchResult is what came of one command of a batch: Err if it was refused.
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

// Batch runs up to [LargestBatch] commands. Atomic: all or none, and the error is
// that of the first that was refused. Else each has its own result, and the
// error is of the batch as a whole.
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

// batchData is the data of a batch's answer.
type batchData struct {
	BatchID uuid.UUID `json:"batchId"`
	Results []struct {
		Status string  `json:"status"` // applied or failed
		Data   Applied `json:"data"`
		Error  refusal `json:"error"`
	} `json:"results"`
}

func (d *batchData) answer(requestID string) BatchAnswer {
	a := BatchAnswer{BatchID: d.BatchID, Results: make([]BatchResult, len(d.Results))}
	for i, r := range d.Results {
		a.Results[i].Applied = r.Data
		if r.Status != applied {
			status := statusOf(r.Error.Code)
			a.Results[i].Err = r.Error.fault(status).Because(because(
				http.MethodPost, batchPath, status, r.Error.Code, requestID,
			))
		}
	}
	return a
}

// applied is the status of a command that was done.
const applied = "applied"

// CommandState is what is known of a command.
type CommandState struct {
	CommandID uuid.UUID `json:"commandId"`
	Status    string    `json:"status"` // pending, applied or failed
}

// CommandByID reports what became of a command or a batch in the last 24 hours.
func (c *Client) CommandByID(ctx context.Context, id uuid.UUID) (CommandState, error) {
	answer, err := do[CommandState](ctx, c, call{method: http.MethodGet, path: commandPath + url.PathEscape(id.String())})
	return answer.Data, err
}

// post sends commands under an Idempotency-Key of their own: whatever happens on
// the way, they are done once.
func post[T any](ctx context.Context, c *Client, path string, content any) (envelope[T], error) {
	body, err := json.Marshal(content, json.Deterministic(true))
	if err != nil {
		return envelope[T]{}, fault.Wrap(err, fault.Malformed, "The command cannot be written as JSON")
	}
	return do[T](ctx, c, call{
		method: http.MethodPost, path: path, body: body, once: uuid.NewString(), waitTimeout: commandTimeout,
	})
}

const (
	// commandWait is for how many seconds the server is asked to wait for a command's
	// outcome, the most that it does, and commandTimeout, which is longer, bounds an
	// attempt.
	commandWait    = "30"
	commandTimeout = 45 * time.Second
)
