// Package commands serves the graph's write routes. It parses a command or a batch
// strictly, validates what can be validated without the graph, writes a record to topic
// graph.commands, and responds with the decision of the commands consumer.
//
// It decides nothing about the graph and keeps no state: outcomes are stored in Postgres.
// When an outcome is not known in time, the error contains the id for requesting it later.
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

// commandLog is the topic of commands.
type commandLog interface {
	ProduceCommand(ctx context.Context, record kafka.Record) error
	ObserveTopic(ctx context.Context, name string) (kafka.TopicState, error)
}

// Deps are the dependencies of the routes.
type Deps struct {
	Log           commandLog
	Outcomes      outcomeStore
	OutcomeWriter outcomeWriter
	Purges        purgeStore
	// AbandonAfter is how long after its id was issued a command may still reach the log;
	// 0: 2 minutes.
	AbandonAfter time.Duration
	// Waiter must run while the routes are served.
	Waiter *Waiter
	// Keys stores the idempotency keys of requests.
	Keys *idempotency.Manager
	// IDKey signs the ids of commands. All processes of an installation must use the same.
	IDKey [32]byte
	// Bodies bounds the total bytes of the bodies of concurrent requests.
	Bodies *request.Budget
	// Metrics registers the metrics of commands; nil: none are registered.
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
			CheckCapacity: a.checkCapacity,
		},
		{
			Method: http.MethodPost, Pattern: batchPath, Scopes: writeScopes, Handle: a.batch, Work: route.ChangesGraph,
			CheckCapacity: a.checkCapacity,
		},
		{Method: http.MethodGet, Pattern: commandPath, Scopes: writeScopes, Handle: a.get},
		{Method: http.MethodPost, Pattern: purgePath, Scopes: []request.Scope{request.Admin}, Handle: a.purge},
	}
}

// checkCapacity refuses a command for which there is no capacity, before it counts against
// the limits of a plan.
func (a *api) checkCapacity() error {
	if err := a.Bodies.CheckCapacity(); err != nil {
		return err
	}
	return a.Waiter.checkCapacity()
}

func (a *api) execute(w http.ResponseWriter, r *http.Request) error {
	return a.accept(w, r, request.MaxBody, readCommand)
}

func (a *api) batch(w http.ResponseWriter, r *http.Request) error {
	return a.accept(w, r, maxBatchBody, readBatch)
}

// accept parses the request, submits it, and responds with its outcome.
func (a *api) accept(
	w http.ResponseWriter, r *http.Request, limit int64, read func([]byte) (*parsedRequest, error),
) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	waitTimeout, err := ReadWaitTimeout(w, r)
	if err != nil {
		return err
	}
	body, release, err := request.Body(w, r, limit, request.WithBudget(a.Bodies))
	if err != nil {
		return err
	}
	defer release()
	parsed, err := read(body)
	if err != nil {
		return err
	}
	for _, scopes := range parsed.scopes() {
		if err := request.Require(r.Context(), scopes...); err != nil {
			return err
		}
	}
	claim, previous, err := a.claim(w, r, body, waitTimeout)
	switch {
	case err != nil:
		return err
	case previous != nil:
		if claim != nil && previous.Err == nil {
			request.NotesOf(r.Context()).Command = claim.ID()
		}
		return previous.Send(w, r)
	case parsed.invalid != nil:
		claim.Fail(r.Context(), parsed.invalid)
		return parsed.invalid
	}
	decided, err := a.submit(r.Context(), parsed, claim, waitTimeout)
	if err != nil {
		claim.Release(r.Context())
		return err
	}
	switch {
	case decided.Err == nil, idempotency.IsStored(decided.Err): // the stored outcome is replayed
	case fault.Is(decided.Err, fault.Internal):
		claim.Release(r.Context()) // it is a dead letter, which may be redriven: a retry must use the same id
	default:
		claim.Forget(r.Context())
	}
	return decided.Send(w, r)
}

// claim claims the request's Idempotency-Key. previous is the response to an earlier request
// with the key, if its command was decided or refused; claim is nil if the request has no key.
func (a *api) claim(
	w http.ResponseWriter, r *http.Request, body []byte, waitTimeout time.Duration,
) (claim *idempotency.Claim, previous *idempotency.Answer, err error) {
	workspace := request.PrincipalOf(r.Context()).Workspace
	operation := idempotency.Operation{
		Route: r.URL.Path, Content: [][]byte{body}, NewID: func() uuid.UUID { return a.ids.issue(workspace) },
		HoldTimeout: waitTimeout + HoldMargin,
	}
	for {
		claim, err = a.Keys.Begin(r, operation)
		if err != nil || claim == nil || (claim.Held() && !claim.Resumed()) {
			return claim, nil, err
		}
		ref := graphstore.CommandRef{Workspace: workspace, ID: claim.ID()}
		outcome, err := outcomeForRetry(r.Context(), a.Outcomes, a.OutcomeWriter, ref, claim.Held())
		if err != nil {
			claim.Release(r.Context())
			return nil, nil, err
		}
		if outcome == nil {
			if claim.Held() { // the command may be in the log already: written again, it is still applied once
				return claim, nil, nil
			}
			previous, err = claim.Replay(w)
			return nil, previous, err
		}
		answer := answerOf(outcome, isBatch(outcome))
		switch {
		case answer.Err == nil || idempotency.IsStored(answer.Err):
			claim.MarkReplayed(w)
			return claim, &answer, nil
		case !claim.Held(): // its holder is about to release it
			previous, err = claim.Replay(w)
			return nil, previous, err
		}
		claim.Forget(r.Context())
	}
}

// outcomeForRetry returns the outcome of a command whose key is claimed again, nil if it has
// none. If the command failed internally and the key is held, its outcome is deleted and the
// command is decided once more, under the same id: its record is a dead letter, and whichever
// comes second, the retry or a redrive of the dead letter, must find the outcome of the other.
func outcomeForRetry(
	ctx context.Context, store outcomeStore, failures failureStore, ref graphstore.CommandRef, held bool,
) (*eventsv1.Outcome, error) {
	for {
		outcomes, err := store.CommandOutcomes(ctx, []graphstore.CommandRef{ref})
		encoded := outcomes[ref]
		if err != nil || encoded == nil {
			return nil, err
		}
		if !held || !graphrecord.FailedInternally(encoded) {
			return decodeOutcome(ref.ID, encoded)
		}
		if forgotten, err := failures.ForgetFailure(ctx, ref, encoded); err != nil || forgotten {
			return nil, err
		}
	}
}

// submit writes the request to the log and waits for its outcome. If the outcome is unknown,
// the error contains the id for requesting it.
func (a *api) submit(
	ctx context.Context, parsed *parsedRequest, claim *idempotency.Claim, waitTimeout time.Duration,
) (answer idempotency.Answer, err error) {
	workspace := request.PrincipalOf(ctx).Workspace
	var id uuid.UUID
	if claim != nil {
		id = claim.ID()
	} else {
		id = a.ids.issue(workspace)
	}
	accepted := a.newRequest(ctx, parsed, id)
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
		return answer, withCommandID(err, id)
	}
	outcome, err := waiting.outcome(ctx, waitTimeout)
	switch {
	case err != nil:
		return answer, withCommandID(err, id)
	case outcome == nil:
		return answer, withCommandID(fault.New(fault.Timeout, "The command is not decided yet").After(time.Second), id)
	}
	decoded, err := graphrecord.DecodeOutcome(outcome)
	if err != nil {
		return answer, withCommandID(err, id)
	}
	if answer = answerOf(decoded, parsed.mode != graphrecord.Single); answer.Err == nil {
		request.NotesOf(ctx).Command = id
	}
	return answer, nil
}

// withCommandID adds the id for requesting the outcome.
func withCommandID(err error, id uuid.UUID) error {
	return reply.Public(err).With(reply.CommandID, id)
}

// originOf returns the origin of the commands of a request.
func originOf(ctx context.Context) graph.Origin {
	principal := request.PrincipalOf(ctx)
	origin := graph.Origin{
		Actor: principal.ActorID, AcceptedAt: time.Now().UTC().Truncate(time.Microsecond), RequestID: reply.RequestID(ctx),
	}
	for _, scope := range principal.Scopes {
		origin.Scopes = append(origin.Scopes, string(scope))
	}
	return origin
}

// newRequest creates the record of a request.
func (a *api) newRequest(ctx context.Context, parsed *parsedRequest, id uuid.UUID) *graphrecord.Request {
	r := &graphrecord.Request{
		Workspace: request.PrincipalOf(ctx).Workspace, Mode: parsed.mode, ID: id, Actions: parsed.actions,
		Origin: originOf(ctx),
	}
	if parsed.mode == graphrecord.Separate {
		r.CommandIDs = make([]uuid.UUID, len(parsed.actions))
		for i := range r.CommandIDs {
			r.CommandIDs[i] = newID()
		}
	}
	return r
}

// state is the response to GET of a command.
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
	issuedAt, issued := a.ids.issued(workspace, id)
	pending := issued && time.Since(issuedAt) < outcomeRetention
	if outcome == nil && pending {
		outcome = a.abandon(r.Context(), workspace, id, issuedAt)
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

// stateOf returns the state of a command with an outcome.
func stateOf(id uuid.UUID, o *eventsv1.Outcome) state {
	decided := answerOf(o, isBatch(o))
	if decided.Err != nil {
		problem := reply.ProblemOf(decided.Err)
		return state{CommandID: id, Status: statusFailed, Error: &problem}
	}
	return state{CommandID: id, Status: statusApplied, Result: decided.Data}
}
