// Package analyses serves the analyses of a workspace's graph: jobs that compute a measure of all nodes, and may write
// it to a property of them.
//
// It queues and cancels jobs, and reads their state; consumers/analyses runs them.
package analyses

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/analysis"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

// store has the jobs; see storage/postgres/jobs.
type store interface {
	CreateAnalysis(
		ctx context.Context, job *jobs.Analysis, key *access.IdempotencyClaim, response func(*jobs.Analysis) ([]byte, error),
	) (jobs.Analysis, error)
	Analysis(ctx context.Context, workspace, id uuid.UUID) (jobs.Analysis, error)
	Analyses(ctx context.Context, workspace uuid.UUID, limit, offset int) ([]jobs.Analysis, int64, error)
	CancelAnalysis(ctx context.Context, workspace, id uuid.UUID) (jobs.Analysis, error)
}

// Deps are the dependencies of the routes.
type Deps struct {
	Store store
	// Keys stores the idempotency keys of requests.
	Keys *idempotency.Manager
}

type api struct{ Deps }

const (
	listPath     = "/api/analyses"
	analysisPath = listPath + "/{id}"
	cancelPath   = analysisPath + "/cancel"
)

// Routes returns the group's routes. An analysis reads nodes and edges. The scope of writing is checked where an
// analysis writes its results.
func Routes(deps Deps) []route.Route {
	a := &api{deps}
	rt := func(method, pattern string, handle route.Handler) route.Route {
		return route.Route{
			Method: method, Pattern: pattern, Scopes: []request.Scope{request.ReadNodes, request.ReadEdges},
			RequireAllScopes: true, Handle: handle,
		}
	}
	return []route.Route{
		rt(http.MethodPost, listPath, a.create), rt(http.MethodGet, listPath, a.list),
		rt(http.MethodGet, analysisPath, a.get), rt(http.MethodPost, cancelPath, a.cancel),
	}
}

// answer is the JSON form of an analysis.
type answer struct {
	ID uuid.UUID `json:"id"`
	analysis.Spec
	State      jobs.AnalysisState  `json:"state"`
	Phase      *jobs.AnalysisPhase `json:"phase"`
	Sequence   *int64              `json:"sequence"`
	Nodes      int64               `json:"nodes"`
	Edges      int64               `json:"edges"`
	Written    int64               `json:"written"`
	Unchanged  int64               `json:"unchanged"`
	Skipped    int64               `json:"skipped"`
	Error      *string             `json:"error"`
	CreatedAt  time.Time           `json:"createdAt"`
	StartedAt  *time.Time          `json:"startedAt"`
	FinishedAt *time.Time          `json:"finishedAt"`
	Result     *analysis.Result    `json:"result,omitzero"` // not in lists
}

func answerOf(a *jobs.Analysis) answer {
	return answer{
		ID: a.ID, Spec: a.Spec, State: a.State, Phase: a.Phase, Sequence: a.Sequence, Nodes: a.Nodes, Edges: a.Edges,
		Written: a.Written, Unchanged: a.Unchanged, Skipped: a.Skipped, Error: a.Error, CreatedAt: a.CreatedAt,
		StartedAt: a.StartedAt, FinishedAt: a.FinishedAt, Result: a.Result,
	}
}

// createdAnswer is the response to a request that queued an analysis.
func createdAnswer(a *jobs.Analysis) idempotency.Answer {
	return idempotency.Answer{
		Status: http.StatusAccepted, Location: listPath + "/" + a.ID.String(), Data: answerOf(a),
	}
}

func (a *api) create(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body newAnalysis
	raw, release, err := request.JSONBody(r, &body)
	if err != nil {
		return err
	}
	defer release()
	if err := body.authorize(r.Context()); err != nil {
		return err
	}
	operation := idempotency.Operation{Route: listPath, Content: [][]byte{raw}}
	return a.Keys.Once(w, r, operation, func(ctx context.Context, claim *idempotency.Claim) (idempotency.Answer, error) {
		created, err := a.queue(ctx, &body, claim)
		if err != nil {
			return idempotency.Answer{}, err
		}
		request.NotesOf(ctx).AddResult(created.ID.String())
		return createdAnswer(&created), nil
	})
}

// queue queues the analysis that the body specifies. With a claim it queues it at most once.
func (a *api) queue(ctx context.Context, body *newAnalysis, claim *idempotency.Claim) (jobs.Analysis, error) {
	spec, err := body.spec()
	if err != nil {
		return jobs.Analysis{}, err
	}
	principal := request.PrincipalOf(ctx)
	job := jobs.Analysis{
		Workspace: principal.Workspace, ID: uuid.Must(uuid.NewV7()), Spec: spec,
		Origin: graph.Origin{Actor: principal.ActorID, RequestID: reply.RequestID(ctx), Scopes: []string{}},
	}
	for _, scope := range principal.Scopes {
		job.Origin.Scopes = append(job.Origin.Scopes, string(scope))
	}
	if claim == nil {
		return a.Store.CreateAnalysis(ctx, &job, nil, nil)
	}
	job.ID = claim.ID()
	key := claim.Record()
	return a.Store.CreateAnalysis(ctx, &job, &key, func(created *jobs.Analysis) ([]byte, error) {
		response := createdAnswer(created)
		return response.Encode()
	})
}

func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	limit, offset := p.Page()
	if err := p.Err(); err != nil {
		return err
	}
	page, total, err := a.Store.Analyses(r.Context(), request.PrincipalOf(r.Context()).Workspace, limit, offset)
	if err != nil {
		return err
	}
	items := make([]answer, len(page))
	for i := range page {
		page[i].Result = nil
		items[i] = answerOf(&page[i])
	}
	reply.List(w, r, items, reply.PageMeta(total, limit, offset, len(items)))
	return nil
}

func (a *api) get(w http.ResponseWriter, r *http.Request) error {
	job, err := a.read(r)
	if err != nil {
		return err
	}
	reply.Resource(w, r, answerOf(&job))
	return nil
}

// read returns the analysis of a request without a body.
func (a *api) read(r *http.Request) (jobs.Analysis, error) {
	if err := request.NoInput(r); err != nil {
		return jobs.Analysis{}, err
	}
	id, err := request.PathID(r, "id", "analysis")
	if err != nil {
		return jobs.Analysis{}, err
	}
	return a.Store.Analysis(r.Context(), request.PrincipalOf(r.Context()).Workspace, id)
}

// cancel cancels an analysis. One that writes its results is cancelled by a key that may write them.
func (a *api) cancel(w http.ResponseWriter, r *http.Request) error {
	job, err := a.read(r)
	if err != nil {
		return err
	}
	if job.Spec.Property != nil {
		if err := request.Require(r.Context(), request.WriteNodes); err != nil {
			return err
		}
	}
	cancelled, err := a.Store.CancelAnalysis(r.Context(), job.Workspace, job.ID)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, answerOf(&cancelled))
	return nil
}
