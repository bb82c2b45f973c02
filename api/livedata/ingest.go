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

// pipeline writes points to the log.
type pipeline interface {
	Accept(ctx context.Context, format ingest.Format, req ingest.Request) (ingest.Result, error)
	// SourcesChanged makes a change of the workspace's sources effective immediately.
	SourcesChanged(workspace uuid.UUID)
	AwaitCacheExpiry(ctx context.Context, committed time.Time)
}

// ingestAnswer is the response to an ingest request.
type ingestAnswer struct {
	Accepted   int                `json:"accepted"`
	Rejected   int                `json:"rejected"`
	Errors     []ingest.Rejection `json:"errors"`
	Checkpoint string             `json:"checkpoint"`
}

// ingest accepts points and responds when all accepted ones are in the log.
func (a *api) ingest(w http.ResponseWriter, r *http.Request) error {
	received := time.Now()
	params, err := readIngestParams(r)
	if err != nil {
		return err
	}
	body, release, err := request.Body(w, r, a.MaxBodyBytes, a.bodyOptions(params.format)...)
	if err != nil {
		return err
	}
	defer release()
	claim, err := a.Keys.Begin(r, idempotency.Operation{Route: ingestPath, Content: params.fingerprint(body)})
	switch {
	case err != nil:
		return err
	case claim != nil && !claim.Held():
		return claim.SendPrevious(w, r)
	case claim != nil: // points without a time get the same time again and overwrite those of the first request
		received = claim.ReceivedAt()
	}
	result, token, err := a.acceptPoints(r.Context(), params, body, received)
	if err != nil {
		claim.Fail(r.Context(), err)
		return err
	}
	answer := params.answer(&result, token)
	claim.Complete(r.Context(), answer)
	return answer.Send(w, r)
}

// answer returns the response. For a remote write without rejected points it is 204, as the
// clients expect.
func (a *ingestParams) answer(result *ingest.Result, token string) idempotency.Answer {
	if a.format.IsRemoteWrite() && result.Rejected == 0 {
		return idempotency.Answer{Status: http.StatusNoContent}
	}
	return idempotency.Answer{Status: http.StatusCreated, Data: ingestAnswer{
		Accepted: result.Accepted, Rejected: result.Rejected, Errors: result.Errors, Checkpoint: token}}
}

// acceptPoints writes the points to the log. It returns the result and the checkpoint.
func (a *api) acceptPoints(
	ctx context.Context, params ingestParams, body []byte, received time.Time,
) (ingest.Result, string, error) {
	workspace := request.PrincipalOf(ctx).Workspace
	// The topic id is read before the produce: if the topic is recreated meanwhile, the
	// checkpoint is refused instead of matching other records.
	topic := a.TopicID()
	result, err := a.Pipeline.Accept(ctx, params.format, ingest.Request{
		Workspace: workspace, RequestID: reply.RequestID(ctx), ReceivedAt: received, Body: body,
		Strict: params.strict, Precision: params.precision})
	token := checkpoint.Encode(&a.sealer, checkpoint.Checkpoint{
		Workspace: workspace, Topic: topic, Positions: result.Positions,
	})
	return result, token, withCheckpoint(err, token, len(result.Positions) > 0)
}

// withCheckpoint adds to an error the checkpoint of the records that were written in spite of
// it.
func withCheckpoint(err error, token string, written bool) error {
	var failure *fault.Error
	if written && errors.As(err, &failure) {
		return failure.With("checkpoint", token)
	}
	return err
}
