package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// maxRecordRefs is the maximum number of dead letters that a request names individually. Each
// is read separately.
const maxRecordRefs = 100

// actionBody selects dead letters, either by record reference or by a filter.
type actionBody struct {
	Places *[]recordRefBody `json:"places"`
	Filter *filterBody      `json:"filter"`
	DryRun *bool            `json:"dryRun"`
	Again  *bool            `json:"again"`
	Reason *string          `json:"reason"`
	Cursor *string          `json:"cursor"`
}

type recordRefBody struct {
	Topic     *string `json:"topic"`
	Partition *int32  `json:"partition"`
	Offset    *int64  `json:"offset"`
}

type filterBody struct {
	Topics         []string `json:"topics"`
	WorkspaceID    *string  `json:"workspaceId"`
	From           *string  `json:"from"`
	To             *string  `json:"to"`
	ReasonContains *string  `json:"reasonContains"`
	States         []string `json:"states"`
}

// request validates the body and returns the request for the service.
func (b *actionBody) request(c *request.Check, needsReason bool) pipelineadmin.DeadLetterRequest {
	r := pipelineadmin.DeadLetterRequest{DryRun: valueOf(b.DryRun), Again: valueOf(b.Again), Reason: valueOf(b.Reason)}
	c.Required("reason", b.Reason != nil || !needsReason)
	if len(r.Reason) > pipelineadmin.MaxReason {
		c.Fail("reason", fmt.Sprintf("must not be longer than %d bytes", pipelineadmin.MaxReason))
	}
	if b.Reason != nil && needsReason {
		c.Prose("reason", *b.Reason, pipelineadmin.MaxReason)
		if *b.Reason == "" {
			c.Fail("reason", "must not be empty")
		}
	}
	switch {
	case b.Places != nil && b.Filter != nil:
		c.Fail("filter", "cannot be combined with places")
	case b.Places != nil && b.Cursor != nil:
		c.Fail("cursor", "goes with a filter")
	case b.Places != nil:
		r.Records = readRecordRefs(c, *b.Places)
	case b.Filter != nil:
		r.Filter = b.Filter.filter(c)
	default: // all dead letters must be requested explicitly, by an empty filter
		c.Required("filter", false)
	}
	return r
}

func readRecordRefs(c *request.Check, bodies []recordRefBody) []pipelineadmin.RecordRef {
	if len(bodies) == 0 || len(bodies) > maxRecordRefs {
		c.Fail("places", fmt.Sprintf("must be from 1 to %d", maxRecordRefs))
	}
	list := make([]pipelineadmin.RecordRef, len(bodies))
	for i, p := range bodies {
		field := fmt.Sprintf("places[%d].", i)
		c.Required(field+"topic", p.Topic != nil)
		c.Required(field+"partition", p.Partition != nil)
		c.Required(field+"offset", p.Offset != nil)
		list[i] = pipelineadmin.RecordRef{Topic: valueOf(p.Topic), Partition: valueOf(p.Partition), Offset: valueOf(p.Offset)}
		c.OneOf(field+"topic", list[i].Topic, deadLetterTopics()...)
	}
	return list
}

func (b *filterBody) filter(c *request.Check) pipelineadmin.DeadLetterFilter {
	f := pipelineadmin.DeadLetterFilter{
		Topics: b.Topics, Workspace: readID(c, "filter.workspaceId", b.WorkspaceID), From: readTime(c, "filter.from", b.From),
		To: readTime(c, "filter.to", b.To), ReasonContains: valueOf(b.ReasonContains),
	}
	for i, name := range b.Topics {
		c.OneOf(fmt.Sprintf("filter.topics[%d]", i), name, deadLetterTopics()...)
	}
	for i, state := range b.States {
		c.OneOf(fmt.Sprintf("filter.states[%d]", i), state, deadLetterStates...)
		f.States = append(f.States, jobs.DeadLetterState(state))
	}
	if f.From != nil && f.To != nil && !f.From.Before(*f.To) {
		c.Fail("filter.to", "must be after from")
	}
	return f
}

// actionAnswer contains the outcomes of dead letters, and the cursor of the next request.
type actionAnswer struct {
	Outcomes []pipelineadmin.DeadLetterOutcome `json:"outcomes"`
	Counts   outcomeCounts                     `json:"counts"`
	pipelineadmin.Scan
	NextCursor *string `json:"nextCursor"` // null: complete
}

type outcomeCounts struct {
	Would     int64 `json:"would"`
	Redriven  int64 `json:"redriven"`
	Discarded int64 `json:"discarded"`
	Skipped   int64 `json:"skipped"`
}

func (a *api) redrive(w http.ResponseWriter, r *http.Request) error {
	return a.apply(w, r, false, func(
		ctx context.Context, req pipelineadmin.DeadLetterRequest,
	) (pipelineadmin.DeadLetterResult, error) {
		return a.Pipeline.Redrive(ctx, req, nil)
	})
}

func (a *api) discard(w http.ResponseWriter, r *http.Request) error {
	return a.apply(w, r, true, func(
		ctx context.Context, req pipelineadmin.DeadLetterRequest,
	) (pipelineadmin.DeadLetterResult, error) {
		return a.Pipeline.Discard(ctx, req, nil)
	})
}

// apply runs an action on dead letters until it is complete or the time budget of a request
// is used up. In the latter case it returns a cursor.
func (a *api) apply(w http.ResponseWriter, r *http.Request, needsReason bool,
	run func(context.Context, pipelineadmin.DeadLetterRequest) (pipelineadmin.DeadLetterResult, error),
) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body actionBody
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	var c request.Check
	req := body.request(&c, needsReason)
	if err := c.Err(); err != nil {
		return err
	}
	// The action may change between two requests of a cursor, the filter may not.
	scope := token.ScopeOf("dead-letters", uuid.Nil, []any{req.Filter, req.Again})
	if body.Cursor != nil {
		if err := a.sealer.ReadCursor(*body.Cursor, scope, &req.Remaining); err != nil {
			return err
		}
	}
	req.RequestedBy, req.TimeBudget = request.RequesterOf(r.Context()), a.BulkTime
	result, err := run(r.Context(), req)
	if err != nil && body.Filter != nil {
		return request.PrefixField("filter", err)
	}
	if err != nil {
		return err
	}
	answer := actionAnswer{Outcomes: result.Outcomes, Scan: result.Scan, Counts: outcomeCounts{
		Would: result.Counts[pipelineadmin.OutcomePlanned], Redriven: result.Counts[pipelineadmin.OutcomeRedriven],
		Discarded: result.Counts[pipelineadmin.OutcomeDiscarded], Skipped: result.Counts[pipelineadmin.OutcomeSkipped],
	}}
	if len(result.Remaining) > 0 {
		next, err := a.sealer.Cursor(scope, slices.Clip(result.Remaining))
		if err != nil {
			return err
		}
		answer.NextCursor = &next
	}
	reply.Data(w, r, http.StatusOK, answer)
	return nil
}
