package commands

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// batchAnswer is the response to a batch.
type batchAnswer struct {
	BatchID uuid.UUID     `json:"batchId"`
	Results []batchResult `json:"results"`
}

// batchResult is the result of a command of a batch: Data or Error.
type batchResult struct {
	Index  int               `json:"index"`
	Status string            `json:"status"`
	Data   *graphjson.Answer `json:"data,omitzero"`
	Error  *reply.Problem    `json:"error,omitzero"`
}

// Statuses of a command.
const (
	statusPending = "pending"
	statusApplied = graphjson.Applied
	statusFailed  = "failed"
)

// answerOf returns the response for an outcome; batch is whether it is the outcome of a batch.
func answerOf(o *eventsv1.Outcome, batch bool) idempotency.Answer {
	if failure := o.GetFailure(); failure != nil {
		return idempotency.Answer{Err: failureOf(o, failure)}
	}
	if batch {
		return idempotency.Answer{Status: http.StatusOK, Data: batchOf(o)}
	}
	if len(o.GetResults()) != 1 {
		return idempotency.Answer{Err: fault.New(fault.Internal, "")}
	}
	if failure := o.GetResults()[0].GetFailure(); failure != nil {
		return idempotency.Answer{Err: failureOf(o, failure)}
	}
	return appliedAnswer(graphjson.OfResult(o, 0))
}

// appliedAnswer returns the response for a command that was applied: 201 with a location if
// it created something, else 200.
func appliedAnswer(data graphjson.Answer) idempotency.Answer {
	a := idempotency.Answer{Status: http.StatusOK, Data: data}
	if strings.HasPrefix(data.Type, "CREATE_") || data.Effect == string(graph.Created) {
		a.Status = http.StatusCreated
		switch {
		case data.Node != nil:
			a.Location = "/api/queries/nodes/" + data.Node.ID.String()
		case data.Edge != nil:
			a.Location = "/api/queries/edges/" + data.Edge.ID.String()
		}
	}
	return a
}

// failureOf returns the error for a failure. An internal error contains the command's id.
func failureOf(o *eventsv1.Outcome, failure *eventsv1.Failure) error {
	err := graphrecord.ToFault(failure)
	if err.Kind == fault.Internal {
		_ = err.With(reply.CommandID, idOf(o))
	}
	return err
}

// isBatch reports whether an outcome is of a batch, whose commands have their own ids, or none.
func isBatch(o *eventsv1.Outcome) bool {
	results := o.GetResults()
	return len(results) != 1 || !bytes.Equal(results[0].GetCommandId(), o.GetId())
}

func idOf(o *eventsv1.Outcome) uuid.UUID {
	id, _ := uuid.FromBytes(o.GetId())
	return id
}

func batchOf(o *eventsv1.Outcome) batchAnswer {
	b := batchAnswer{BatchID: idOf(o), Results: make([]batchResult, len(o.GetResults()))}
	for i, r := range o.GetResults() {
		b.Results[i] = batchResult{Index: i, Status: statusApplied}
		if failure := r.GetFailure(); failure != nil {
			problem := reply.ProblemOf(failureOf(o, failure))
			b.Results[i].Status, b.Results[i].Error = statusFailed, &problem
			continue
		}
		data := graphjson.OfResult(o, i)
		b.Results[i].Data = &data
	}
	return b
}
