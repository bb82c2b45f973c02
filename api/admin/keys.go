package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/keyadmin"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

const (
	// rollAfter is the age of an active key after which it should be rolled.
	rollAfter = 90 * 24 * time.Hour
	// defaultRollGrace and maxRollGrace are how long a rolled key stays valid, by default and
	// at most.
	defaultRollGrace = 24 * time.Hour
	maxRollGrace     = 30 * 24 * time.Hour
	// maxLifetime of a key that expires keeps its time within the range of the formats.
	maxLifetime      = 100 * 365 * 24 * time.Hour
	maxKeyWorkspaces = 1000 // workspaces
)

// keyAnswer is a key without its secret.
type keyAnswer struct {
	ID         uuid.UUID      `json:"id"`
	Display    string         `json:"display"`
	Name       string         `json:"name"`
	Mode       string         `json:"mode"`
	Scopes     []string       `json:"scopes"`
	Workspaces []keyWorkspace `json:"workspaces"`
	ActorID    uuid.UUID      `json:"actorId"`
	RolledFrom *uuid.UUID     `json:"rolledFrom"`
	CreatedBy  string         `json:"createdBy"`
	CreatedAt  time.Time      `json:"createdAt"`
	ExpiresAt  *time.Time     `json:"expiresAt"`
	RevokedAt  *time.Time     `json:"revokedAt"`
	LastUsedAt *time.Time     `json:"lastUsedAt"`
	LastUsedIP *netip.Addr    `json:"lastUsedFrom"`
	State      string         `json:"state"`
	RollDue    bool           `json:"rollDue"` // active, and older than 90 days
}

// keyWorkspace is a workspace that a key has access to.
type keyWorkspace struct {
	ID   uuid.UUID `json:"id"`
	Name *string   `json:"name"` // null: the workspace is deleted
}

// keyWithText is a new key with its secret, which is not shown again.
type keyWithText struct {
	keyAnswer
	Text string `json:"key"`
}

func keyOf(k *access.Key, now time.Time) keyAnswer {
	shown := keyAnswer{
		ID: k.ID, Display: k.Display, Name: k.Name, Mode: k.Mode, Scopes: k.Scopes,
		Workspaces: make([]keyWorkspace, len(k.Workspaces)), ActorID: k.ActorID,
		RolledFrom: k.RolledFrom, CreatedBy: k.CreatedBy, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
		RevokedAt:  k.RevokedAt,
		LastUsedAt: k.LastUsedAt, LastUsedIP: k.LastUsedIP, State: access.KeyActive,
	}
	switch {
	case k.RevokedAt != nil:
		shown.State = access.KeyRevoked
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		shown.State = access.KeyExpired
	default:
		shown.RollDue = now.Sub(k.CreatedAt) > rollAfter
	}
	if shown.Scopes == nil {
		shown.Scopes = []string{}
	}
	for i, id := range k.Workspaces {
		shown.Workspaces[i].ID = id
	}
	return shown
}

// setWorkspaceNames sets the names of the workspaces of the keys.
func (a *Admin) setWorkspaceNames(ctx context.Context, list []keyAnswer) error {
	var ids []uuid.UUID
	for i := range list {
		for _, w := range list[i].Workspaces {
			ids = append(ids, w.ID)
		}
	}
	found, err := a.deps.Workspaces.WorkspacesByID(ctx, ids)
	if err != nil {
		return err
	}
	names := make(map[uuid.UUID]*string, len(found))
	for i := range found {
		names[found[i].ID] = &found[i].Name
	}
	for i := range list {
		for j := range list[i].Workspaces {
			list[i].Workspaces[j].Name = names[list[i].Workspaces[j].ID] //nolint:gosec // G602: j is an index of it
		}
	}
	return nil
}

// replyCreated answers with a new key. It is the only response that contains its secret.
func (a *Admin) replyCreated(w http.ResponseWriter, r *http.Request, created *access.Key, text apikey.Key) error {
	request.NotesOf(r.Context()).AddResult(created.ID.String())
	shown := []keyAnswer{keyOf(created, time.Now())}
	if err := a.setWorkspaceNames(r.Context(), shown); err != nil {
		return err
	}
	reply.Data(w, r, http.StatusCreated, keyWithText{keyAnswer: shown[0], Text: text.Reveal()})
	return nil
}

// keys lists keys.
func (a *Admin) keys(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	now := time.Now()
	f := access.KeyFilter{
		Workspace: p.UUID("workspaceId"), IDs: p.UUIDs("id"), Actors: p.UUIDs("actorId"),
		State:  p.OneOf("state", "", access.KeyActive, access.KeyExpired, access.KeyRevoked),
		Newest: p.OneOf("sort", "createdAt", "createdAt", "-createdAt") == "-createdAt",
		Limit:  p.Int("limit", maxPageSize, 1, maxPageSize), Offset: p.Int("offset", 0, 0, 1<<31-1),
	}
	f.Text, _ = p.String("name")
	for name, ids := range map[string][]uuid.UUID{"id": f.IDs, "actorId": f.Actors} {
		if len(ids) > maxPageSize {
			p.Fail(name, fmt.Sprintf("must be at most %d ids", maxPageSize))
		}
	}
	if p.Bool("rollDue") {
		f.State, f.CreatedBefore = access.KeyActive, new(now.Add(-rollAfter))
	}
	if err := p.Err(); err != nil {
		return err
	}
	found, total, err := a.deps.Keys.KeyPage(r.Context(), &f, now)
	if err != nil {
		return err
	}
	list := make([]keyAnswer, len(found))
	for i := range found {
		list[i] = keyOf(&found[i], now)
	}
	if err := a.setWorkspaceNames(r.Context(), list); err != nil {
		return err
	}
	reply.List(w, r, list, reply.PageMeta(total, f.Limit, f.Offset, len(list)))
	return nil
}

type newKey struct {
	Name       *string                  `json:"name"`
	Workspaces *[]string                `json:"workspaces"`
	Scopes     *[]string                `json:"scopes"`
	ExpiresAt  request.Nullable[string] `json:"expiresAt"`
}

// createKey creates a key. Only the response contains its secret.
func (a *Admin) createKey(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body newKey
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	spec, err := body.read(time.Now())
	if err != nil {
		return err
	}
	if spec.Mode, err = a.keyMode(r, spec.Workspaces); err != nil {
		return err
	}
	spec.CreatedBy = request.RequesterOf(r.Context())
	created, text, err := keyadmin.Create(r.Context(), a.deps.Keys, spec)
	if err != nil {
		return err
	}
	return a.replyCreated(w, r, &created, text)
}

// read validates the body and returns the new key.
func (b *newKey) read(now time.Time) (spec access.NewKey, err error) {
	var check request.Check
	check.Required("name", b.Name != nil)
	check.Required("workspaces", b.Workspaces != nil)
	if b.Name != nil {
		check.Text("name", *b.Name, 1, 256)
		spec.Name = *b.Name
	}
	if b.Workspaces != nil {
		if n := len(*b.Workspaces); n < 1 || n > maxKeyWorkspaces {
			check.Fail("workspaces", fmt.Sprintf("must have 1 to %d ids", maxKeyWorkspaces))
		}
		for i, text := range *b.Workspaces {
			field := fmt.Sprintf("workspaces[%d]", i)
			id := check.UUID(field, text)
			if slices.Contains(spec.Workspaces, id) {
				check.Fail(field, "is there twice")
			}
			spec.Workspaces = append(spec.Workspaces, id)
		}
	}
	spec.Scopes = []string{}
	if b.Scopes != nil {
		allowed := make([]string, len(request.Scopes))
		for i, scope := range request.Scopes {
			allowed[i] = string(scope)
		}
		for i, scope := range *b.Scopes {
			check.OneOf(fmt.Sprintf("scopes[%d]", i), scope, allowed...)
			if !slices.Contains(spec.Scopes, scope) {
				spec.Scopes = append(spec.Scopes, scope)
			}
		}
	}
	if b.ExpiresAt.Set && !b.ExpiresAt.Null {
		at, ok := request.ParseTime(b.ExpiresAt.Value)
		switch {
		case !ok:
			check.Fail("expiresAt", "must be an RFC 3339 time, such as 2026-11-21T07:40:08Z")
		case !at.After(now):
			check.Fail("expiresAt", "must be in the future")
		case at.Sub(now) > maxLifetime:
			check.Fail("expiresAt", "is more than 100 years ahead")
		}
		spec.ExpiresAt = &at
	}
	return spec, check.Err()
}

// keyMode returns the mode of the workspaces, which must exist and have the same mode.
func (a *Admin) keyMode(r *http.Request, ids []uuid.UUID) (string, error) {
	found, err := a.deps.Workspaces.WorkspacesByID(r.Context(), ids)
	if err != nil {
		return "", err
	}
	mode, err := keyadmin.Mode(found, ids)
	wrong := (*keyadmin.WorkspaceError)(nil)
	if !errors.As(err, &wrong) {
		return mode, err
	}
	problem := "is of another mode than the first; a key opens workspaces of one mode"
	if wrong.Unknown {
		problem = "is no workspace"
	}
	return "", fault.Field(fault.Invalid, fmt.Sprintf("workspaces[%d]", wrong.Index), problem)
}

type rollBody struct {
	GraceSeconds *int64 `json:"graceSeconds"`
}

// rollKey creates a successor of a key with the same actor, scopes and workspaces. Only the
// response contains its secret. The body is optional.
func (a *Admin) rollKey(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "key")
	if err != nil {
		return err
	}
	var body rollBody
	if r.ContentLength != 0 {
		if err := request.JSON(r, &body); err != nil {
			return err
		}
	}
	grace := defaultRollGrace
	if body.GraceSeconds != nil {
		var check request.Check
		request.Between(&check, "graceSeconds", *body.GraceSeconds, 0, int64(maxRollGrace/time.Second))
		if err := check.Err(); err != nil {
			return err
		}
		grace = time.Duration(*body.GraceSeconds) * time.Second
	}
	created, text, err := keyadmin.Roll(r.Context(), a.deps.Keys, id, request.RequesterOf(r.Context()), grace)
	if err != nil {
		return err
	}
	return a.replyCreated(w, r, &created, text)
}

// revokeKey revokes a key. Every process rejects it after at most a second.
func (a *Admin) revokeKey(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	id, err := request.PathID(r, "id", "key")
	if err != nil {
		return err
	}
	if _, err := a.deps.Keys.RevokeKey(r.Context(), id); err != nil {
		return err
	}
	reply.NoContent(w)
	return nil
}
