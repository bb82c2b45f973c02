package livedata

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/internal/fault"
)

// pipeline brings points into the log.
type pipeline interface {
	AcceptJSON(ctx context.Context, req ingest.Request) (ingest.Result, error)
	// SourcesChanged makes a change of the workspace's sources hold at once.
	SourcesChanged(workspace uuid.UUID)
}

// ingestAnswer is what became of a request's points.
type ingestAnswer struct {
	Accepted   int                `json:"accepted"`
	Rejected   int                `json:"rejected"`
	Errors     []ingest.Rejection `json:"errors"`
	Checkpoint string             `json:"checkpoint"`
}

// ingest takes points and answers when the log has all that were accepted.
func (a *api) ingest(w http.ResponseWriter, r *http.Request) error {
	received := time.Now()
	p := request.Query(r)
	strict := p.Bool("strict")
	if err := p.Err(); err != nil {
		return err
	}
	body, release, err := request.Body(w, r, a.MaxBodyBytes, request.Within(a.Bodies))
	if err != nil {
		return err
	}
	defer release()
	workspace := request.PrincipalOf(r.Context()).Workspace
	// Before the produce: positions of a topic that is made anew meanwhile are
	// then refused with the checkpoint, instead of being taken for others.
	topic := a.TopicID()
	result, err := a.Pipeline.AcceptJSON(r.Context(), ingest.Request{
		Workspace: workspace, RequestID: reply.RequestID(r.Context()), ReceivedAt: received, Body: body, Strict: strict})
	made := a.sealer.encodeCheckpoint(checkpoint{workspace: workspace, topic: topic, positions: result.Positions})
	if err != nil {
		return withCheckpoint(err, made, len(result.Positions) > 0)
	}
	reply.Data(w, r, http.StatusCreated, ingestAnswer{
		Accepted: result.Accepted, Rejected: result.Rejected, Errors: result.Errors, Checkpoint: made})
	return nil
}

// withCheckpoint adds to an error the checkpoint of what is in the log in spite
// of it.
func withCheckpoint(err error, made string, written bool) error {
	var failure *fault.Error
	if written && errors.As(err, &failure) {
		return failure.With("checkpoint", made)
	}
	return err
}
