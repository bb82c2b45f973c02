package livedata

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/idempotency"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// sourceStore reads and writes sources.
type sourceStore interface {
	CreateSource(ctx context.Context, workspace uuid.UUID, s registry.Source) (registry.Source, error)
	CreateSourceOnce(ctx context.Context, workspace uuid.UUID, s registry.Source, key access.IdempotencyClaim,
		answer func(registry.Source) ([]byte, error)) (registry.Source, error)
	Source(ctx context.Context, workspace, id uuid.UUID) (registry.Source, error)
	Sources(
		ctx context.Context, workspace uuid.UUID, filter registry.SourceFilter, page registry.SourcePage,
	) (list []registry.Source, total int64, more bool, err error)
	UpdateSource(
		ctx context.Context, workspace, id uuid.UUID, expected *int64, change func(*registry.Source) error,
	) (registry.Source, error)
	UpdateSourceOnce(ctx context.Context, workspace, id uuid.UUID, expected *int64, change func(*registry.Source) error,
		key access.IdempotencyClaim, answer func(registry.Source) ([]byte, error)) (registry.Source, error)
	DeleteSource(ctx context.Context, workspace, id uuid.UUID, requestID string) (registry.PendingDeletion, error)
}

// The status of a source is active while points arrive, stale when none arrived for three of
// its intervals (five minutes if it has no interval), never when none has arrived yet.
const (
	statusActive = "active"
	statusStale  = "stale"
	statusNever  = "never"

	staleIntervals  = 3
	staleByDefault  = 5 * time.Minute
	activityTimeout = 2 * time.Second
)

// sourceAnswer is a source with its current activity. LastSeenAt and Status are null while
// ClickHouse is unavailable.
type sourceAnswer struct {
	registry.Source
	LastSeenAt *time.Time `json:"lastSeenAt"`
	Status     *string    `json:"status"`
}

// withActivity adds the activity to sources. It is read from ClickHouse; if that fails, the
// sources are returned without it.
func (a *api) withActivity(ctx context.Context, workspace uuid.UUID, sources ...registry.Source) []sourceAnswer {
	ctx, cancel := context.WithTimeout(ctx, activityTimeout)
	defer cancel()
	ids := make([]uuid.UUID, len(sources))
	for i := range sources {
		ids[i] = sources[i].ID
	}
	seen, err := a.Points.SourceActivity(ctx, workspace, ids)
	if err != nil {
		slog.WarnContext(ctx, "sources are shown without their activity", "error", err)
	}
	answers := make([]sourceAnswer, len(sources))
	for i, s := range sources {
		if err != nil {
			answers[i].Source = s
			continue
		}
		var at *time.Time
		if found, ok := seen[s.ID]; ok {
			at = &found
		}
		answers[i] = seenAt(s, at)
	}
	return answers
}

// seenAt returns a source that had its last point at a time, nil if it had none.
func seenAt(s registry.Source, at *time.Time) sourceAnswer {
	status := statusNever
	if at != nil {
		status = statusAt(&s, *at, time.Now())
	}
	return sourceAnswer{Source: s, LastSeenAt: at, Status: &status}
}

// after returns the answer for a source after a change.
func (s *sourceAnswer) after(changed registry.Source) sourceAnswer {
	if s.Status == nil { // its activity is unknown
		return sourceAnswer{Source: changed}
	}
	return seenAt(changed, s.LastSeenAt)
}

func statusAt(s *registry.Source, seen, now time.Time) string {
	maxAge := staleByDefault
	if s.IntervalSeconds != nil {
		maxAge = time.Duration(staleIntervals * *s.IntervalSeconds * float64(time.Second))
	}
	if now.Sub(seen) > maxAge {
		return statusStale
	}
	return statusActive
}

func (a *api) listSources(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	name, _ := p.String("name")
	filter := registry.SourceFilter{Name: name, NodeID: p.UUID("nodeId"), Tags: p.Family("tag.")}
	page := registry.SourcePage{}
	for _, field := range p.Sort(registry.SourceSortFields()...) {
		page.Order = append(page.Order, postgres.Order{Field: field.Name, Descending: field.Descending})
	}
	var cursor string
	page.Limit, page.Offset, cursor = p.Paging()
	if err := p.Err(); err != nil {
		return err
	}
	workspace := request.PrincipalOf(r.Context()).Workspace
	scope := token.ScopeOf("sources", workspace, []any{filter, page.Order})
	if cursor != "" {
		page.After = &registry.SourcePosition{}
		if err := a.sealer.ReadCursor(cursor, scope, page.After); err != nil {
			return err
		}
	}
	list, total, more, err := a.Sources.Sources(r.Context(), workspace, filter, page)
	if err != nil {
		return err
	}
	meta := reply.Meta{Total: total, Limit: page.Limit, Offset: page.Offset, HasMore: more}
	if more {
		next, err := a.sealer.Cursor(scope, list[len(list)-1].Position())
		if err != nil {
			return err
		}
		meta.NextCursor = &next
	}
	reply.List(w, r, a.withActivity(r.Context(), workspace, list...), meta)
	return nil
}

func (a *api) getSource(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := sourceOf(r)
	if err != nil {
		return err
	}
	s, err := a.Sources.Source(r.Context(), workspace, id)
	if err != nil {
		return err
	}
	reply.Resource(w, r, a.withActivity(r.Context(), workspace, s)[0])
	return nil
}

func (a *api) createSource(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body newSource
	raw, release, err := request.JSONBody(r, &body)
	if err != nil {
		return err
	}
	defer release()
	operation := idempotency.Operation{Route: sourcesPath, Content: [][]byte{raw}}
	return a.Keys.Once(w, r, operation, func(ctx context.Context, claim *idempotency.Claim) (idempotency.Answer, error) {
		return a.makeSource(ctx, &body, claim)
	})
}

// makeSource creates the source that the body describes. With a claim it creates it at most
// once.
func (a *api) makeSource(
	ctx context.Context, body *newSource, claim *idempotency.Claim,
) (answer idempotency.Answer, err error) {
	s, err := body.source()
	if err != nil {
		return answer, err
	}
	workspace := request.PrincipalOf(ctx).Workspace
	if claim == nil {
		s, err = a.Sources.CreateSource(ctx, workspace, s)
	} else {
		s, err = a.Sources.CreateSourceOnce(ctx, workspace, s, claim.Record(), func(created registry.Source) ([]byte, error) {
			answer := createdSource(created)
			return answer.Encode()
		})
	}
	if err != nil {
		return answer, err
	}
	request.NotesOf(ctx).AddResult(s.ID.String())
	a.Pipeline.SourcesChanged(workspace)
	return createdSource(s), nil
}

func createdSource(s registry.Source) idempotency.Answer {
	status := statusNever
	return idempotency.Answer{
		Status: http.StatusCreated, Location: sourcesPath + "/" + s.ID.String(),
		Data: sourceAnswer{Source: s, Status: &status},
	}
}

func (a *api) patchSource(w http.ResponseWriter, r *http.Request) error {
	_, id, err := sourceOf(r)
	if err != nil {
		return err
	}
	var body sourcePatch
	raw, release, err := request.JSONBody(r, &body)
	if err != nil {
		return err
	}
	defer release()
	operation := idempotency.Operation{Route: sourcePath, Content: [][]byte{id[:], raw}}
	return a.Keys.Once(w, r, operation, func(ctx context.Context, claim *idempotency.Claim) (idempotency.Answer, error) {
		answer, err := a.changeSource(ctx, id, &body, claim)
		return idempotency.Answer{Status: http.StatusOK, Data: answer}, err
	})
}

// changeSource changes a source of the request's workspace. With a claim it changes it at most once.
func (a *api) changeSource(
	ctx context.Context, id uuid.UUID, body *sourcePatch, claim *idempotency.Claim,
) (answer sourceAnswer, err error) {
	if err := body.check(); err != nil {
		return answer, err
	}
	workspace := request.PrincipalOf(ctx).Workspace
	before := ""
	change := func(s *registry.Source) error {
		before = s.Name
		return body.apply(s)
	}
	var changed registry.Source
	if claim == nil {
		changed, err = a.Sources.UpdateSource(ctx, workspace, id, body.ExpectedVersion, change)
	} else {
		// The activity is read before the transaction, in which the whole response is stored.
		known := a.withActivity(ctx, workspace, registry.Source{ID: id})[0]
		changed, err = a.Sources.UpdateSourceOnce(ctx, workspace, id, body.ExpectedVersion, change, claim.Record(),
			func(changed registry.Source) ([]byte, error) {
				answer = known.after(changed)
				stored := idempotency.Answer{Status: http.StatusOK, Data: answer}
				return stored.Encode()
			})
	}
	if err != nil {
		return answer, err
	}
	a.Pipeline.SourcesChanged(workspace)
	if changed.Name != before {
		a.Pipeline.AwaitCacheExpiry(ctx, time.Now())
	}
	if claim == nil {
		answer = a.withActivity(ctx, workspace, changed)[0]
	}
	return answer, nil
}

func (a *api) deleteSource(w http.ResponseWriter, r *http.Request) error {
	workspace, id, err := sourceOf(r)
	if err != nil {
		return err
	}
	pending, err := a.Sources.DeleteSource(r.Context(), workspace, id, reply.RequestID(r.Context()))
	if err != nil {
		return err
	}
	committed := time.Now()
	a.Pipeline.SourcesChanged(workspace)
	// The deletion is committed, so the response is 204 whatever happens next. If it cannot
	// be written to the log now, it is written in the background.
	a.Deletions.attempt(r.Context(), pending)
	a.Pipeline.AwaitCacheExpiry(r.Context(), committed)
	reply.NoContent(w)
	return nil
}

// sourceOf returns the workspace and source id of a request. An id that is not a UUID is a
// NotFound error, like an id that does not exist.
func sourceOf(r *http.Request) (workspace, id uuid.UUID, err error) {
	if err := request.Query(r).Err(); err != nil {
		return workspace, id, err
	}
	id, err = request.PathID(r, "id", "source")
	return request.PrincipalOf(r.Context()).Workspace, id, err
}
