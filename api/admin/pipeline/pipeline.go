// Package pipeline serves what an operator does to the pipeline while it runs: the topics,
// the dead letters, replays, and the search indexes, under /admin/api. It does what the
// commands topics, dlq, replay and reindex do, by the same means (internal/services/pipelineadmin), in
// answers of the interface's form.
//
// What can take long is bounded in each request and goes on in the next: to redrive or
// discard many letters gives a cursor until all are done, and a replay or a re-index is
// only asked for here, and carried out by the process that has the role.
package pipeline

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/pipelineadmin"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// Deps is what the routes are made of.
type Deps struct {
	Pipeline pipeline
	Index    index
	// TokenKey signs cursors: the installation's, the same in every process.
	TokenKey [32]byte
	// BulkTime is for how long a request begins portions of letters; 0: 5 seconds.
	BulkTime time.Duration
	// QueryTimeout is the longest time of a request; beyond, 504.
	QueryTimeout time.Duration
}

// defaultBulkTime is short, so that who waits sees how far it is.
const defaultBulkTime = 5 * time.Second

// pipeline is what an operator works at; see pipelineadmin.Service.
type pipeline interface {
	Topics(ctx context.Context) ([]pipelineadmin.Topic, error)
	LetterCounts(ctx context.Context) (map[string]map[jobs.LetterState]int64, error)
	Letters(
		ctx context.Context, f pipelineadmin.LetterFilter, limit int, progress func(pipelineadmin.Scan),
	) (pipelineadmin.LetterList, error)
	ShowLetter(ctx context.Context, at pipelineadmin.Place) (pipelineadmin.ShownLetter, error)
	Redrive(
		ctx context.Context, r pipelineadmin.LetterRequest, progress func(pipelineadmin.LetterResult),
	) (pipelineadmin.LetterResult, error)
	Discard(
		ctx context.Context, r pipelineadmin.LetterRequest, progress func(pipelineadmin.LetterResult),
	) (pipelineadmin.LetterResult, error)
	PlanReplay(ctx context.Context, r pipelineadmin.ReplayRequest) (pipelineadmin.Replay, error)
	StartReplay(ctx context.Context, r pipelineadmin.ReplayRequest) (pipelineadmin.Replay, error)
	Replays(ctx context.Context, offset, limit int) ([]pipelineadmin.Replay, int64, error)
	Replay(ctx context.Context, id uuid.UUID) (pipelineadmin.Replay, error)
	CancelReplay(ctx context.Context, id uuid.UUID) (pipelineadmin.Replay, error)
}

// index knows how far the search indexes are, and takes wishes for a new one.
type index interface {
	Workspaces(ctx context.Context) ([]access.Workspace, error)
	IndexStatuses(ctx context.Context, workspaces []uuid.UUID) ([]textindex.IndexStatus, error)
	OpenIndexes(ctx context.Context) ([]textindex.SearchIndex, error)
	BuildProgress(ctx context.Context, index uuid.UUID) (textindex.BuildProgress, error)
	LastReindex(ctx context.Context) (*textindex.Reindex, error)
	RequestReindex(ctx context.Context, by string) (textindex.Reindex, error)
}

type api struct {
	Deps
	sealer token.Sealer
}

// Paths of the group.
const (
	topicsPath  = "/admin/api/topics"
	lettersPath = "/admin/api/dead-letters"
	replaysPath = "/admin/api/replays"
	indexesPath = "/admin/api/indexes"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	if deps.BulkTime == 0 {
		deps.BulkTime = defaultBulkTime
	}
	a := &api{Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}}
	routes := []route.Route{
		{Method: http.MethodGet, Pattern: topicsPath, Handle: a.topics},
		{Method: http.MethodGet, Pattern: lettersPath, Handle: a.letters, ReadsData: true},
		{Method: http.MethodGet, Pattern: lettersPath + "/{topic}/{partition}/{offset}", Handle: a.letter, ReadsData: true},
		{Method: http.MethodPost, Pattern: lettersPath + "/redrive", Handle: a.redrive},
		{Method: http.MethodPost, Pattern: lettersPath + "/discard", Handle: a.discard},
		{Method: http.MethodGet, Pattern: replaysPath, Handle: a.replays},
		{Method: http.MethodPost, Pattern: replaysPath, Handle: a.startReplay},
		{Method: http.MethodGet, Pattern: replaysPath + "/{id}", Handle: a.replay},
		{Method: http.MethodDelete, Pattern: replaysPath + "/{id}", Handle: a.cancelReplay},
		{Method: http.MethodGet, Pattern: indexesPath, Handle: a.indexes},
		{Method: http.MethodGet, Pattern: indexesPath + "/reindex", Handle: a.reindexing},
		{Method: http.MethodPost, Pattern: indexesPath + "/reindex", Handle: a.reindex},
	}
	for i := range routes {
		routes[i].Access = route.Operator
		routes[i].Handle = a.within(routes[i].Handle)
	}
	return routes
}

// within bounds the time of a request.
func (a *api) within(handle route.Handler) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
		defer cancel()
		return handle(w, r.WithContext(ctx))
	}
}

// asParameter makes what was wrong with a value a matter of the URL's parameter.
func asParameter(err error) error {
	var public *fault.Error
	if !errors.As(err, &public) || public.Kind != fault.Invalid {
		return err
	}
	refused := *public
	refused.Kind = fault.Malformed
	return &refused
}

// moment reads a time of a body.
func moment(c *request.Check, field string, text *string) *time.Time {
	if text == nil {
		return nil
	}
	at, ok := request.ParseTime(*text)
	if !ok {
		c.Fail(field, "must be an RFC 3339 time, such as 2026-11-21T07:40:08Z")
	}
	at = at.UTC()
	return &at
}

// identity reads an id of a body.
func identity(c *request.Check, field string, text *string) *uuid.UUID {
	if text == nil {
		return nil
	}
	id := c.UUID(field, *text)
	return &id
}

// valueOf returns what is there, else the zero value.
func valueOf[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}
