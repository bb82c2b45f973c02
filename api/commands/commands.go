// Package commands serves the graph's write routes. It reads a command or a batch
// strictly, checks what can be told without the graph, puts a record into topic
// graph.commands, and answers with what the commands consumer decided.
//
// It decides nothing about the graph, and it can lose nothing: what it answers is in
// Postgres, and of what it cannot tell in time it gives the id by which to ask.
package commands

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/fault"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/storage/kafka"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// maxBatchBody is the largest body of a batch, decoded.
const maxBatchBody = 8 << 20

// commandLog is where commands go.
type commandLog interface {
	ProduceCommand(ctx context.Context, record kafka.Record) error
	ObserveTopic(ctx context.Context, name string) (kafka.TopicState, error)
}

// Deps is what the routes are made of.
type Deps struct {
	Log      commandLog
	Outcomes outcomeStore
	Fate     fate
	Purges   purges
	// AbandonAfter is how long a command may be on its way into the log; 0: 2 minutes.
	AbandonAfter time.Duration
	// Waiter runs as long as the routes are served.
	Waiter *Waiter
	// Keys are those of requests that clients may repeat.
	Keys *idempotency.Keeper
	// IDKey signs the ids of commands: the installation's, the same in every process.
	IDKey [32]byte
	// Bodies bounds the bytes of all bodies that are worked on.
	Bodies *request.Budget
	// Metrics registers what commands measure; nil: nowhere.
	Metrics prometheus.Registerer
}

type api struct {
	Deps
	ids issuer
}

// Paths of the group.
const (
	executePath = "/api/commands/execute"
	batchPath   = "/api/commands/batch"
	commandPath = "/api/commands/{id}"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	if deps.AbandonAfter <= 0 {
		deps.AbandonAfter = abandonAfter
	}
	a := &api{Deps: deps, ids: issuer{key: deps.IDKey}}
	a.register(deps.Metrics)
	return []route.Route{
		{
			Method: http.MethodPost, Pattern: executePath, Scopes: writeScopes, Handle: a.execute, Work: route.ChangesGraph,
			Room: a.room,
		},
		{
			Method: http.MethodPost, Pattern: batchPath, Scopes: writeScopes, Handle: a.batch, Work: route.ChangesGraph,
			Room: a.room,
		},
		{Method: http.MethodGet, Pattern: commandPath, Scopes: writeScopes, Handle: a.get},
		{Method: http.MethodPost, Pattern: purgePath, Scopes: []request.Scope{request.Admin}, Handle: a.purge},
	}
}

// room refuses a command for which there is no room before it counts against a plan.
func (a *api) room() error {
	if err := a.Bodies.Room(); err != nil {
		return err
	}
	return a.Waiter.room()
}

func (a *api) execute(w http.ResponseWriter, r *http.Request) error {
	return a.accept(w, r, request.MaxBody, readCommand)
}

func (a *api) batch(w http.ResponseWriter, r *http.Request) error {
	return a.accept(w, r, maxBatchBody, readBatch)
}

// accept reads what is asked for, has it decided, and answers.
func (a *api) accept(w http.ResponseWriter, r *http.Request, limit int64, read func([]byte) (*asked, error)) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	waitTimeout, err := readWaitTimeout(w, r)
	if err != nil {
		return err
	}
	body, release, err := request.Body(w, r, limit, request.Within(a.Bodies))
	if err != nil {
		return err
	}
	defer release()
	asked, err := read(body)
	if err != nil {
		return err
	}
	for _, scopes := range asked.scopes() {
		if err := request.Require(r.Context(), scopes...); err != nil {
			return err
		}
	}
	claim, known, err := a.claim(w, r, body, waitTimeout)
	switch {
	case err != nil:
		return err
	case known != nil:
		if claim != nil && known.Err == nil {
			request.NotesOf(r.Context()).Command = claim.ID()
		}
		return known.Send(w, r)
	case asked.invalid != nil:
		claim.Fail(r.Context(), asked.invalid)
		return asked.invalid
	}
	decided, err := a.decide(r.Context(), asked, claim, waitTimeout)
	if err != nil {
		claim.Release(r.Context())
		return err
	}
	switch {
	case decided.Err == nil, idempotency.Kept(decided.Err): // the outcome is what is kept
	case fault.Is(decided.Err, fault.Internal):
		claim.Release(r.Context()) // it is a dead letter, that may yet be put back: a repetition has its id
	default:
		claim.Forget(r.Context())
	}
	return decided.Send(w, r)
}

// holdMore is how long the holder of a key may take beside its wait for the outcome.
const holdMore = 15 * time.Second

// claim claims the request's Idempotency-Key. known is the answer, if the command is
// decided or was refused; claim is nil if the request has no key.
func (a *api) claim(
	w http.ResponseWriter, r *http.Request, body []byte, waitTimeout time.Duration,
) (claim *idempotency.Claim, known *idempotency.Answer, err error) {
	workspace := request.PrincipalOf(r.Context()).Workspace
	use := idempotency.Use{
		Route: r.URL.Path, Asked: [][]byte{body}, NewID: func() uuid.UUID { return a.ids.issue(workspace) },
		Hold: waitTimeout + holdMore,
	}
	for {
		claim, err = a.Keys.Begin(r, use)
		if err != nil || claim == nil || (claim.Held() && !claim.Resumed()) {
			return claim, nil, err
		}
		outcome, err := a.reopen(r.Context(), graphstore.CommandRef{Workspace: workspace, ID: claim.ID()}, claim.Held())
		if err != nil {
			claim.Release(r.Context())
			return nil, nil, err
		}
		if outcome == nil {
			if claim.Held() { // the command may be in the log, or not: put there again it is still done once
				return claim, nil, nil
			}
			known, err = claim.Replay(w)
			return nil, known, err
		}
		answer := answerOf(outcome, isBatch(outcome))
		switch {
		case answer.Err == nil || idempotency.Kept(answer.Err):
			claim.MarkReplayed(w)
			return claim, &answer, nil
		case !claim.Held(): // who holds it is about to let go of it
			known, err = claim.Replay(w)
			return nil, known, err
		}
		claim.Forget(r.Context())
	}
}

// reopen returns the outcome of a command whose key is claimed again, nil if it has none.
// One that failed for an internal reason loses it if the key is held: it is decided once
// more, under the same id. Its record is a dead letter, and anyone who puts that back must
// find what came of the repetition, or the repetition what came of that.
func (a *api) reopen(ctx context.Context, ref graphstore.CommandRef, held bool) (*eventsv1.Outcome, error) {
	for {
		outcomes, err := a.Outcomes.CommandOutcomes(ctx, []graphstore.CommandRef{ref})
		encoded := outcomes[ref]
		if err != nil || encoded == nil {
			return nil, err
		}
		if !held || !graphrecord.FailedInternally(encoded) {
			return decodeOutcome(ref.ID, encoded)
		}
		if forgotten, err := a.Fate.ForgetFailure(ctx, ref, encoded); err != nil || forgotten {
			return nil, err
		}
	}
}

// decide puts the request into the log and waits for what comes of it. An error that
// does not say what came of it has the id by which to ask.
func (a *api) decide(
	ctx context.Context, asked *asked, claim *idempotency.Claim, waitTimeout time.Duration,
) (answer idempotency.Answer, err error) {
	workspace := request.PrincipalOf(ctx).Workspace
	var id uuid.UUID
	if claim != nil {
		id = claim.ID()
	} else {
		id = a.ids.issue(workspace)
	}
	accepted := a.request(ctx, asked, id)
	encoded, err := graphrecord.EncodeRequest(accepted)
	if err != nil {
		return answer, err
	}
	waiting, err := a.Waiter.begin(graphstore.CommandRef{Workspace: workspace, ID: id})
	if err != nil {
		return answer, err
	}
	defer waiting.end()
	err = a.Log.ProduceCommand(ctx, kafka.Record{
		Workspace: workspace, Value: encoded, RequestID: accepted.RequestID, ReplyTo: a.Waiter.replies.Address(),
	})
	if err != nil {
		return answer, undecided(err, id)
	}
	outcome, err := waiting.outcome(ctx, waitTimeout)
	switch {
	case err != nil:
		return answer, undecided(err, id)
	case outcome == nil:
		return answer, undecided(fault.New(fault.Timeout, "The command is not decided yet").After(time.Second), id)
	}
	decoded, err := graphrecord.DecodeOutcome(outcome)
	if err != nil {
		return answer, undecided(err, id)
	}
	if answer = answerOf(decoded, asked.mode != graphrecord.Single); answer.Err == nil {
		request.NotesOf(ctx).Command = id
	}
	return answer, nil
}

// undecided adds the id by which the outcome can be asked for.
func undecided(err error, id uuid.UUID) error {
	return reply.Public(err).With(reply.CommandID, id)
}

// request makes the record of what is asked for.
func (a *api) request(ctx context.Context, asked *asked, id uuid.UUID) *graphrecord.Request {
	principal := request.PrincipalOf(ctx)
	r := &graphrecord.Request{
		Workspace: principal.Workspace, Mode: asked.mode, ID: id, Actions: asked.actions,
		Origin: graph.Origin{
			Actor: principal.ActorID, AcceptedAt: time.Now().UTC().Truncate(time.Microsecond), RequestID: reply.RequestID(ctx),
		},
	}
	for _, scope := range principal.Scopes {
		r.Scopes = append(r.Scopes, string(scope))
	}
	if asked.mode == graphrecord.Separate {
		r.CommandIDs = make([]uuid.UUID, len(asked.actions))
		for i := range r.CommandIDs {
			r.CommandIDs[i] = newID()
		}
	}
	return r
}

// state is what is known of a command.
type state struct {
	CommandID uuid.UUID      `json:"commandId"`
	Status    string         `json:"status"`
	Result    any            `json:"result,omitzero"`
	Error     *reply.Problem `json:"error,omitzero"`
}

func (a *api) get(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "command")
	if err != nil {
		return err
	}
	workspace := request.PrincipalOf(r.Context()).Workspace
	outcome, err := a.lookUp(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	at, issued := a.ids.issued(workspace, id)
	pending := issued && time.Since(at) < outcomeKept
	if outcome == nil && pending {
		outcome = a.abandon(r.Context(), workspace, id, at)
	}
	switch {
	case outcome != nil:
		reply.Data(w, r, http.StatusOK, stateOf(id, outcome))
	case pending:
		reply.Data(w, r, http.StatusOK, state{CommandID: id, Status: statusPending})
	default:
		return fault.New(fault.NotFound, "No such command")
	}
	return nil
}

// lookUp returns the outcome of a command, nil if there is none.
func (a *api) lookUp(ctx context.Context, workspace, id uuid.UUID) (*eventsv1.Outcome, error) {
	ref := graphstore.CommandRef{Workspace: workspace, ID: id}
	outcomes, err := a.Outcomes.CommandOutcomes(ctx, []graphstore.CommandRef{ref})
	if err != nil || outcomes[ref] == nil {
		return nil, err
	}
	return decodeOutcome(id, outcomes[ref])
}

func decodeOutcome(id uuid.UUID, encoded []byte) (*eventsv1.Outcome, error) {
	outcome, err := graphrecord.DecodeOutcome(encoded)
	if err != nil {
		return nil, fmt.Errorf("the outcome of %s: %w", id, err)
	}
	return outcome, nil
}

// stateOf shows an outcome.
func stateOf(id uuid.UUID, o *eventsv1.Outcome) state {
	decided := answerOf(o, isBatch(o))
	if decided.Err != nil {
		problem := reply.ProblemOf(decided.Err)
		return state{CommandID: id, Status: statusFailed, Error: &problem}
	}
	return state{CommandID: id, Status: statusApplied, Result: decided.Data}
}
