package documents

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/commands"
	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

type deleteAnswer struct {
	ID         uuid.UUID        `json:"id"`
	ExternalID string           `json:"externalId"`
	Status     document.Outcome `json:"status"`
	CommandID  uuid.UUID        `json:"commandId"`
}

// delete deletes a document with its passages and their edges, as one command that can be undone.
func (a *api) delete(w http.ResponseWriter, r *http.Request) error {
	if err := request.NoInput(r); err != nil {
		return err
	}
	waitTimeout, err := commands.ReadWaitTimeout(w, r)
	if err != nil {
		return err
	}
	name, err := nameOf(r)
	if err != nil {
		return err
	}
	workspace, deadline := request.PrincipalOf(r.Context()).Workspace, time.Now().Add(waitTimeout)
	operation := idempotency.Operation{
		Route: documentPath, Content: [][]byte{[]byte(name)}, HoldTimeout: waitTimeout + commands.HoldMargin,
		NewID: func() uuid.UUID { return a.Commands.NewID(workspace) },
	}
	return a.Keys.Once(w, r, operation, func(ctx context.Context, claim *idempotency.Claim) (idempotency.Answer, error) {
		deleted, err := a.deleteOnce(ctx, name, claim, deadline)
		if err != nil {
			return idempotency.Answer{}, err
		}
		answer := idempotency.Answer{Status: http.StatusOK, Data: deleted}
		claim.Complete(ctx, answer)
		return answer, nil
	})
}

// deleteOnce deletes a document. With a claim it deletes it at most once.
func (a *api) deleteOnce(
	ctx context.Context, name string, claim *idempotency.Claim, deadline time.Time,
) (deleted deleteAnswer, err error) {
	attempts := a.Commands.Attempts(ctx, claim)
	applied, err := attempts.Applied(ctx)
	for err == nil && applied == nil && attempts.Left() {
		var done bool
		if deleted, done, err = a.tryDelete(ctx, name, attempts, deadline); done {
			return deleted, nil
		}
		if fault.Is(err, fault.NotFound) { // an earlier request may have been decided just now
			var lookupErr error
			if applied, lookupErr = attempts.Applied(ctx); lookupErr != nil {
				err = lookupErr
			} else if applied != nil {
				err = nil
			}
		}
	}
	switch {
	case err != nil:
		return deleted, err
	case applied != nil:
		return deletedBefore(applied, name), nil
	}
	claim.Forget(ctx) // all attempts are decided, and none had an effect
	return deleted, fault.New(fault.Unavailable, "The document is being changed by others; send the request again").
		After(time.Second)
}

// tryDelete deletes the document as it is now. done is false if it changed meanwhile.
func (a *api) tryDelete(
	ctx context.Context, name string, attempts *commands.Attempts, deadline time.Time,
) (deleted deleteAnswer, done bool, err error) {
	state, err := a.find(ctx, name)
	if err != nil {
		return deleted, false, err
	}
	change := document.Delete(state)
	if len(change.Actions) > graph.MaxBatch {
		return deleted, false, fault.New(
			fault.Conflict, "Too many nodes are marked as passages of the document; delete some of them first",
		).With("reason", "too_many_passages")
	}
	decided, err := attempts.Submit(ctx, change.Actions, time.Until(deadline))
	switch {
	case err != nil:
		return deleted, false, err
	case decided.Err != nil && isConflict(decided.Err):
		return deleted, false, nil
	case decided.Err != nil:
		return deleted, false, decided.Err
	}
	return deleteAnswer{
		ID: change.ID, ExternalID: document.MarkOf(state.Document).ExternalID, Status: change.Outcome,
		CommandID: decided.CommandID,
	}, true, nil
}

// deletedBefore returns the response for a batch that an earlier request applied. Its first command deleted the
// document's node.
func deletedBefore(applied []graphjson.Answer, name string) deleteAnswer {
	answer := deleteAnswer{ExternalID: name, Status: document.Deleted, CommandID: applied[0].CommandID}
	if n := applied[0].Node; n != nil {
		answer.ID = n.ID
		node := graph.Node{ID: n.ID}
		if err := json.Unmarshal(n.Properties, &node.Properties); err == nil { // otherwise it was purged
			if mark := document.OwnMark(&node); mark != nil {
				answer.ExternalID = mark.ExternalID
			}
		}
	}
	return answer
}
