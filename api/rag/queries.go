package rag

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/savedqueries"
)

// queryStore has the saved queries; see storage/postgres/savedqueries.
type queryStore interface {
	CreateSavedQuery(
		ctx context.Context, workspace uuid.UUID, q *savedqueries.SavedQuery, response *savedqueries.Response,
	) (savedqueries.SavedQuery, error)
	SavedQuery(ctx context.Context, workspace, id uuid.UUID) (savedqueries.SavedQuery, error)
	SavedQueries(
		ctx context.Context, workspace uuid.UUID, filter savedqueries.Filter, page savedqueries.Page,
	) (list []savedqueries.SavedQuery, total int64, err error)
	UpdateSavedQuery(
		ctx context.Context, workspace, id uuid.UUID, expected *int64, change func(*savedqueries.SavedQuery) error,
		response *savedqueries.Response,
	) (savedqueries.SavedQuery, error)
	DeleteSavedQuery(ctx context.Context, workspace, id uuid.UUID) error
}

// savedQuery is the JSON form of a saved query.
type savedQuery struct {
	ID          uuid.UUID      `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Kind        string         `json:"kind"`
	Request     jsontext.Value `json:"request"`
	CreatedAt   time.Time      `json:"createdAt"`
	UpdatedAt   time.Time      `json:"updatedAt"`
	Version     int64          `json:"version"`
}

func savedQueryOf(q *savedqueries.SavedQuery) savedQuery {
	return savedQuery{
		ID: q.ID, Name: q.Name, Description: q.Description, Kind: q.Kind, Request: jsontext.Value(q.Request),
		CreatedAt: q.CreatedAt, UpdatedAt: q.UpdatedAt, Version: q.Version,
	}
}

func createdQuery(q *savedqueries.SavedQuery) idempotency.Answer {
	return idempotency.Answer{
		Status: http.StatusCreated, Location: queriesPath + "/" + q.ID.String(), Data: savedQueryOf(q),
	}
}

func changedQuery(q *savedqueries.SavedQuery) idempotency.Answer {
	return idempotency.Answer{Status: http.StatusOK, Data: savedQueryOf(q)}
}

// storedWith returns what the store stores for the key of a request; nil: the request has none.
func storedWith(
	claim *idempotency.Claim, answer func(*savedqueries.SavedQuery) idempotency.Answer,
) *savedqueries.Response {
	if claim == nil {
		return nil
	}
	return &savedqueries.Response{Key: claim.Record(), Encode: func(q savedqueries.SavedQuery) ([]byte, error) {
		response := answer(&q)
		return response.Encode()
	}}
}

func (a *api) listQueries(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	name, _ := p.String("name")
	filter := savedqueries.Filter{Name: name, Kind: p.OneOf("kind", "", queryKinds()...)}
	var page savedqueries.Page
	for _, field := range p.Sort(savedqueries.SortFields()...) {
		page.Order = append(page.Order, postgres.Order{Field: field.Name, Descending: field.Descending})
	}
	page.Limit, page.Offset = p.Page()
	if err := p.Err(); err != nil {
		return err
	}
	list, total, err := a.Queries.SavedQueries(r.Context(), request.PrincipalOf(r.Context()).Workspace, filter, page)
	if err != nil {
		return err
	}
	items := make([]savedQuery, len(list))
	for i := range list {
		items[i] = savedQueryOf(&list[i])
	}
	reply.List(w, r, items, reply.PageMeta(total, page.Limit, page.Offset, len(items)))
	return nil
}

func (a *api) getQuery(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := queryID(r)
	if err != nil {
		return err
	}
	q, err := a.Queries.SavedQuery(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	reply.Resource(w, r, savedQueryOf(&q))
	return nil
}

func (a *api) createQuery(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body newQuery
	raw, release, err := request.JSONBody(r, &body)
	if err != nil {
		return err
	}
	defer release()
	operation := idempotency.Operation{Route: queriesPath, Content: [][]byte{raw}}
	return a.Keys.Once(w, r, operation, func(ctx context.Context, claim *idempotency.Claim) (idempotency.Answer, error) {
		q, err := body.read(a)
		if err != nil {
			return idempotency.Answer{}, err
		}
		workspace := request.PrincipalOf(ctx).Workspace
		created, err := a.Queries.CreateSavedQuery(ctx, workspace, &q, storedWith(claim, createdQuery))
		if err != nil {
			return idempotency.Answer{}, err
		}
		request.NotesOf(ctx).AddResult(created.ID.String())
		return createdQuery(&created), nil
	})
}

func (a *api) patchQuery(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := queryID(r)
	if err != nil {
		return err
	}
	var body queryPatch
	raw, release, err := request.JSONBody(r, &body)
	if err != nil {
		return err
	}
	defer release()
	operation := idempotency.Operation{Route: queryPath, Content: [][]byte{id[:], raw}}
	return a.Keys.Once(w, r, operation, func(ctx context.Context, claim *idempotency.Claim) (idempotency.Answer, error) {
		if err := body.check(); err != nil {
			return idempotency.Answer{}, err
		}
		change := func(q *savedqueries.SavedQuery) error { return body.apply(a, q) }
		changed, err := a.Queries.UpdateSavedQuery(
			ctx, workspace, id, body.ExpectedVersion, change, storedWith(claim, changedQuery),
		)
		return changedQuery(&changed), err
	})
}

func (a *api) deleteQuery(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := queryID(r)
	if err != nil {
		return err
	}
	if err := a.Queries.DeleteSavedQuery(r.Context(), workspace, id); err != nil {
		return err
	}
	reply.NoContent(w)
	return nil
}

// queryID returns the workspace and the id of a saved query of a request without parameters.
func queryID(r *http.Request) (workspace, id uuid.UUID, err error) {
	if err := request.Query(r).Err(); err != nil {
		return workspace, id, err
	}
	id, err = request.PathID(r, "id", "saved query")
	return request.PrincipalOf(r.Context()).Workspace, id, err
}
