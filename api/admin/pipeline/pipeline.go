// Package pipeline serves the routes below /admin/api for operating the pipeline: topics,
// dead letters, replays and search indexes. They do the same as the commands topics, dlq,
// replay and reindex, through internal/services/pipelineadmin.
//
// Long operations are split over several requests: redriving or discarding many dead letters
// returns a cursor until all are processed. A replay or a re-index is only requested here and
// runs in the process that has the role.
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

// Deps are the dependencies of the routes.
type Deps struct {
	Pipeline pipeline
	Index    index
	// TokenKey signs cursors. It is the same in every process of the installation.
	TokenKey [32]byte
	// BulkTime is how long a request starts new batches of dead letters; 0: 5 seconds.
	BulkTime time.Duration
	// QueryTimeout is the maximum time of a request, after which it is answered 504.
	QueryTimeout time.Duration
}

// defaultBulkTime is short, so that clients can show the progress.
const defaultBulkTime = 5 * time.Second

// pipeline operates the pipeline; see pipelineadmin.Service.
type pipeline interface {
	Topics(ctx context.Context) ([]pipelineadmin.Topic, error)
	DeadLetterCounts(ctx context.Context) (map[string]map[jobs.DeadLetterState]int64, error)
	DeadLetters(
		ctx context.Context, f pipelineadmin.DeadLetterFilter, limit int, progress func(pipelineadmin.Scan),
	) (pipelineadmin.DeadLetterList, error)
	ShowDeadLetter(ctx context.Context, record pipelineadmin.RecordRef) (pipelineadmin.DeadLetterDetails, error)
	Redrive(
		ctx context.Context, r pipelineadmin.DeadLetterRequest, progress func(pipelineadmin.DeadLetterResult),
	) (pipelineadmin.DeadLetterResult, error)
	Discard(
		ctx context.Context, r pipelineadmin.DeadLetterRequest, progress func(pipelineadmin.DeadLetterResult),
	) (pipelineadmin.DeadLetterResult, error)
	PlanReplay(ctx context.Context, r pipelineadmin.ReplayRequest) (pipelineadmin.Replay, error)
	StartReplay(ctx context.Context, r pipelineadmin.ReplayRequest) (pipelineadmin.Replay, error)
	Replays(ctx context.Context, offset, limit int) ([]pipelineadmin.Replay, int64, error)
	Replay(ctx context.Context, id uuid.UUID) (pipelineadmin.Replay, error)
	CancelReplay(ctx context.Context, id uuid.UUID) (pipelineadmin.Replay, error)
}

// index reads the progress of the search indexes and requests new ones.
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
	topicsPath      = "/admin/api/topics"
	deadLettersPath = "/admin/api/dead-letters"
	replaysPath     = "/admin/api/replays"
	indexesPath     = "/admin/api/indexes"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	if deps.BulkTime == 0 {
		deps.BulkTime = defaultBulkTime
	}
	a := &api{Deps: deps, sealer: token.Sealer{Key: deps.TokenKey}}
	routes := []route.Route{
		{Method: http.MethodGet, Pattern: topicsPath, Handle: a.topics},
		{Method: http.MethodGet, Pattern: deadLettersPath, Handle: a.deadLetters, ReadsData: true},
		{
			Method: http.MethodGet, Pattern: deadLettersPath + "/{topic}/{partition}/{offset}", Handle: a.deadLetter,
			ReadsData: true,
		},
		{Method: http.MethodPost, Pattern: deadLettersPath + "/redrive", Handle: a.redrive},
		{Method: http.MethodPost, Pattern: deadLettersPath + "/discard", Handle: a.discard},
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
		routes[i].Handle = a.withTimeout(routes[i].Handle)
	}
	return routes
}

// withTimeout returns a handler that limits the time of a request to QueryTimeout.
func (a *api) withTimeout(handle route.Handler) route.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
		defer cancel()
		return handle(w, r.WithContext(ctx))
	}
}

// asQueryError turns an Invalid error into a Malformed one, because the value comes from a
// query parameter.
func asQueryError(err error) error {
	var public *fault.Error
	if !errors.As(err, &public) || public.Kind != fault.Invalid {
		return err
	}
	refused := *public
	refused.Kind = fault.Malformed
	return &refused
}

// readTime parses a time in a body; nil if there is none.
func readTime(c *request.Check, field string, text *string) *time.Time {
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

// readID parses an id in a body; nil if there is none.
func readID(c *request.Check, field string, text *string) *uuid.UUID {
	if text == nil {
		return nil
	}
	id := c.UUID(field, *text)
	return &id
}

// valueOf returns *value, or the zero value if value is nil.
func valueOf[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}
