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

// maxPlaces bounds the letters that a request names one by one: each is looked up alone.
const maxPlaces = 100

// actionBody says which letters to do something about: those at places, or those of a
// filter.
type actionBody struct {
	Places *[]placeBody `json:"places"`
	Filter *filterBody  `json:"filter"`
	DryRun *bool        `json:"dryRun"`
	Again  *bool        `json:"again"`
	Reason *string      `json:"reason"`
	Cursor *string      `json:"cursor"`
}

type placeBody struct {
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

// request checks the body and gives what it asks for.
func (b *actionBody) request(c *request.Check, reasonNeeded bool) pipelineadmin.LetterRequest {
	r := pipelineadmin.LetterRequest{DryRun: valueOf(b.DryRun), Again: valueOf(b.Again), Reason: valueOf(b.Reason)}
	c.Required("reason", b.Reason != nil || !reasonNeeded)
	if len(r.Reason) > pipelineadmin.MaxReason {
		c.Fail("reason", fmt.Sprintf("must not be longer than %d bytes", pipelineadmin.MaxReason))
	}
	if b.Reason != nil && reasonNeeded {
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
		r.Places = places(c, *b.Places)
	case b.Filter != nil:
		r.Filter = b.Filter.filter(c)
	default: // all there are: that must be said
		c.Required("filter", false)
	}
	return r
}

func places(c *request.Check, bodies []placeBody) []pipelineadmin.Place {
	if len(bodies) == 0 || len(bodies) > maxPlaces {
		c.Fail("places", fmt.Sprintf("must be from 1 to %d", maxPlaces))
	}
	list := make([]pipelineadmin.Place, len(bodies))
	for i, p := range bodies {
		field := fmt.Sprintf("places[%d].", i)
		c.Required(field+"topic", p.Topic != nil)
		c.Required(field+"partition", p.Partition != nil)
		c.Required(field+"offset", p.Offset != nil)
		list[i] = pipelineadmin.Place{Topic: valueOf(p.Topic), Partition: valueOf(p.Partition), Offset: valueOf(p.Offset)}
		c.OneOf(field+"topic", list[i].Topic, letterTopics()...)
	}
	return list
}

func (b *filterBody) filter(c *request.Check) pipelineadmin.LetterFilter {
	f := pipelineadmin.LetterFilter{
		Topics: b.Topics, Workspace: identity(c, "filter.workspaceId", b.WorkspaceID), From: moment(c, "filter.from", b.From),
		To: moment(c, "filter.to", b.To), ReasonContains: valueOf(b.ReasonContains),
	}
	for i, name := range b.Topics {
		c.OneOf(fmt.Sprintf("filter.topics[%d]", i), name, letterTopics()...)
	}
	for i, state := range b.States {
		c.OneOf(fmt.Sprintf("filter.states[%d]", i), state, letterStates...)
		f.States = append(f.States, jobs.LetterState(state))
	}
	if f.From != nil && f.To != nil && !f.From.Before(*f.To) {
		c.Fail("filter.to", "must be after from")
	}
	return f
}

// acted is what became of letters, and where the next request goes on.
type acted struct {
	Outcomes []pipelineadmin.LetterOutcome `json:"outcomes"`
	Counts   fateCounts                    `json:"counts"`
	pipelineadmin.Scan
	NextCursor *string `json:"nextCursor"` // null: all is done
}

type fateCounts struct {
	Would     int64 `json:"would"`
	Redriven  int64 `json:"redriven"`
	Discarded int64 `json:"discarded"`
	Skipped   int64 `json:"skipped"`
}

func (a *api) redrive(w http.ResponseWriter, r *http.Request) error {
	return a.act(w, r, false, func(
		ctx context.Context, asked pipelineadmin.LetterRequest,
	) (pipelineadmin.LetterResult, error) {
		return a.Pipeline.Redrive(ctx, asked, nil)
	})
}

func (a *api) discard(w http.ResponseWriter, r *http.Request) error {
	return a.act(w, r, true, func(
		ctx context.Context, asked pipelineadmin.LetterRequest,
	) (pipelineadmin.LetterResult, error) {
		return a.Pipeline.Discard(ctx, asked, nil)
	})
}

// act does something about letters for as long as a request may take, and says where to
// go on.
func (a *api) act(w http.ResponseWriter, r *http.Request, reasonNeeded bool,
	do func(context.Context, pipelineadmin.LetterRequest) (pipelineadmin.LetterResult, error),
) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body actionBody
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	var c request.Check
	asked := body.request(&c, reasonNeeded)
	if err := c.Err(); err != nil {
		return err
	}
	// What is done may change between two requests, what it is done about may not.
	of := token.ScopeOf("dead-letters", uuid.Nil, []any{asked.Filter, asked.Again})
	if body.Cursor != nil {
		if err := a.sealer.ReadCursor(*body.Cursor, of, &asked.Rest); err != nil {
			return err
		}
	}
	asked.By, asked.Within = request.AskerOf(r.Context()), a.BulkTime
	result, err := do(r.Context(), asked)
	if err != nil && body.Filter != nil {
		return request.Under("filter", err)
	}
	if err != nil {
		return err
	}
	answer := acted{Outcomes: result.Outcomes, Scan: result.Scan, Counts: fateCounts{
		Would: result.Counts[pipelineadmin.FateWould], Redriven: result.Counts[pipelineadmin.FateRedriven],
		Discarded: result.Counts[pipelineadmin.FateDiscarded], Skipped: result.Counts[pipelineadmin.FateSkipped],
	}}
	if len(result.Rest) > 0 {
		next, err := a.sealer.Cursor(of, slices.Clip(result.Rest))
		if err != nil {
			return err
		}
		answer.NextCursor = &next
	}
	reply.Data(w, r, http.StatusOK, answer)
	return nil
}
