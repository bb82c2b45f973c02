package livedata

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/livedata/checkpoint"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/ingest"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// pipeline brings points into the log.
type pipeline interface {
	Accept(ctx context.Context, format ingest.Format, req ingest.Request) (ingest.Result, error)
	// SourcesChanged makes a change of the workspace's sources hold at once.
	SourcesChanged(workspace uuid.UUID)
	AwaitOthers(ctx context.Context, committed time.Time)
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
	asked, err := readIngest(r)
	if err != nil {
		return err
	}
	body, release, err := request.Body(w, r, a.MaxBodyBytes, a.bodyOptions(asked.format)...)
	if err != nil {
		return err
	}
	defer release()
	claim, err := a.Keys.Begin(r, idempotency.Use{
		Route: ingestPath, Asked: asked.all(body), NewID: newID, Hold: keyHold,
	})
	switch {
	case err != nil:
		return err
	case claim != nil && !claim.Held():
		return replay(w, r, claim)
	case claim != nil: // points without a time get the same one again, and so overwrite those of the first try
		received = claim.ReceivedAt()
	}
	result, made, err := a.acceptPoints(r.Context(), asked, body, received)
	if err != nil {
		claim.Fail(r.Context(), err)
		return err
	}
	answer := asked.answer(&result, made)
	claim.Keep(r.Context(), answer)
	return answer.Send(w, r)
}

// answer returns the answer: 204 to a remote write of which nothing was rejected, as
// its clients expect.
func (a *ingestParams) answer(result *ingest.Result, made string) idempotency.Answer {
	if a.format == ingest.RemoteWrite && result.Rejected == 0 {
		return idempotency.Answer{Status: http.StatusNoContent}
	}
	return idempotency.Answer{Status: http.StatusCreated, Data: ingestAnswer{
		Accepted: result.Accepted, Rejected: result.Rejected, Errors: result.Errors, Checkpoint: made}}
}

// acceptPoints brings the points into the log: what became of them, and their
// checkpoint.
func (a *api) acceptPoints(
	ctx context.Context, asked ingestParams, body []byte, received time.Time,
) (ingest.Result, string, error) {
	workspace := request.PrincipalOf(ctx).Workspace
	// Before the produce: positions of a topic that is made again meanwhile are
	// then refused with the checkpoint, instead of being taken for others.
	topic := a.TopicID()
	result, err := a.Pipeline.Accept(ctx, asked.format, ingest.Request{
		Workspace: workspace, RequestID: reply.RequestID(ctx), ReceivedAt: received, Body: body,
		Strict: asked.strict, Precision: asked.precision})
	made := checkpoint.Encode(&a.sealer, checkpoint.Checkpoint{
		Workspace: workspace, Topic: topic, Positions: result.Positions,
	})
	return result, made, withCheckpoint(err, made, len(result.Positions) > 0)
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
