package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/access"
)

// maxPageSize is the maximum and the default number of workspaces or keys in a page. The
// default is that high because the admin UI works best with all of them.
const maxPageSize = 1000

// workspaceAnswer is a workspace with its limits.
type workspaceAnswer struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	Plan string    `json:"plan"`
	Mode string    `json:"mode"`
	// PerMinute and PerDay are custom limits; null: the plan's limits.
	PerMinute *int64 `json:"perMinute"`
	PerDay    *int64 `json:"perDay"`
	// Limits are the effective limits; null: unlimited.
	Limits        limits    `json:"limits"`
	RetentionDays *int32    `json:"retentionDays"` // null: points are kept forever
	Sources       int64     `json:"sources"`
	Series        int64     `json:"series"`
	CreatedAt     time.Time `json:"createdAt"`
	UpdatedAt     time.Time `json:"updatedAt"`
}

type limits struct {
	RequestsPerMinute *int64 `json:"requestsPerMinute"`
	RequestsPerDay    *int64 `json:"requestsPerDay"`
	Sources           int64  `json:"sources"`
	Series            int64  `json:"series"`
}

// workspaceDetail is a workspace with its usage.
type workspaceDetail struct {
	workspaceAnswer
	Standing limitUsage `json:"standing"`
	Nodes    int64      `json:"nodes"`
	Edges    int64      `json:"edges"`
	Keys     int64      `json:"keys"` // valid ones
}

type limitUsage struct {
	Minute window `json:"minute"`
	Day    window `json:"day"`
}

// window is the usage of a workspace in a minute or a day.
type window struct {
	Limit     *int64    `json:"limit"` // null: unlimited
	Used      *int64    `json:"used"`  // null: not counted because there is no limit
	Remaining *int64    `json:"remaining"`
	ResetsAt  time.Time `json:"resetsAt"`
}

func windowOf(w *ratelimit.Window) window {
	shown := window{ResetsAt: w.Reset.UTC()}
	if w.Limit < ratelimit.Unlimited {
		shown.Limit, shown.Remaining, shown.Used = &w.Limit, &w.Remaining, new(w.Limit-w.Remaining)
	}
	return shown
}

func workspaceOf(w *access.Workspace) workspaceAnswer {
	perMinute, perDay := w.RequestLimits()
	return workspaceAnswer{
		ID: w.ID, Name: w.Name, Plan: w.Plan, Mode: w.Mode, PerMinute: w.PerMinute, PerDay: w.PerDay,
		Limits: limits{
			RequestsPerMinute: perMinute, RequestsPerDay: perDay, Sources: w.MaxSources, Series: w.MaxSeries,
		},
		RetentionDays: w.RetentionDays, Sources: w.Sources, Series: w.Series, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt,
	}
}

// paginate returns a page of a list.
func paginate[T any](list []T, limit, offset int) ([]T, reply.Meta) {
	page := reply.PageOf(list, limit, offset)
	return page, reply.PageMeta(int64(len(list)), limit, offset, len(page))
}

// workspaceOrders are the orders of a list of workspaces.
var workspaceOrders = map[string]func(a, b *access.Workspace) int{
	"createdAt": func(a, b *access.Workspace) int { return a.CreatedAt.Compare(b.CreatedAt) },
	"name": func(a, b *access.Workspace) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	},
	"plan":    func(a, b *access.Workspace) int { return strings.Compare(a.Plan, b.Plan) },
	"sources": func(a, b *access.Workspace) int { return cmp.Compare(a.Sources, b.Sources) },
	"series":  func(a, b *access.Workspace) int { return cmp.Compare(a.Series, b.Series) },
}

// sortWorkspaces sorts workspaces, which are in the order of their creation. A minus sign
// before the name of an order reverses it.
func sortWorkspaces(list []access.Workspace, order string) {
	name, descending := strings.CutPrefix(order, "-")
	compare := workspaceOrders[name]
	slices.SortStableFunc(list, func(a, b access.Workspace) int {
		if descending {
			return compare(&b, &a)
		}
		return compare(&a, &b)
	})
}

// workspaces lists the workspaces that are not deleted, by default oldest first.
func (a *Admin) workspaces(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	text, _ := p.String("name")
	ids := p.UUIDs("id")
	order := p.OneOf("sort", "createdAt",
		"createdAt", "-createdAt", "name", "-name", "plan", "-plan", "sources", "-sources", "series", "-series")
	limit, offset := p.Int("limit", maxPageSize, 1, maxPageSize), p.Int("offset", 0, 0, 1<<31-1)
	if len(ids) > maxPageSize {
		p.Fail("id", fmt.Sprintf("must be at most %d ids", maxPageSize))
	}
	if err := p.Err(); err != nil {
		return err
	}
	found, err := a.deps.Workspaces.Workspaces(r.Context())
	if err != nil {
		return err
	}
	text = strings.ToLower(text)
	found = slices.DeleteFunc(found, func(w access.Workspace) bool {
		return ids != nil && !slices.Contains(ids, w.ID) ||
			!strings.Contains(strings.ToLower(w.Name), text) && w.ID.String() != text
	})
	sortWorkspaces(found, order)
	found, meta := paginate(found, limit, offset)
	list := make([]workspaceAnswer, len(found))
	for i := range found {
		list[i] = workspaceOf(&found[i])
	}
	reply.List(w, r, list, meta)
	return nil
}

// workspace returns a workspace with its usage.
func (a *Admin) workspace(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	found, err := a.workspaceOfPath(r)
	if err != nil {
		return err
	}
	counts, err := a.deps.Workspaces.WorkspaceCounts(r.Context(), found.ID)
	if err != nil {
		return err
	}
	status := a.deps.Limits.Peek(r.Context(), []ratelimit.WorkspacePlan{{Workspace: found.ID, Plan: planOf(&found)}})[0]
	reply.Data(w, r, http.StatusOK, workspaceDetail{
		workspaceAnswer: workspaceOf(&found),
		Standing:        limitUsage{Minute: windowOf(&status.Minute), Day: windowOf(&status.Day)},
		Nodes:           counts.Nodes, Edges: counts.Edges, Keys: counts.Keys,
	})
	return nil
}

func planOf(w *access.Workspace) ratelimit.Plan {
	plan := ratelimit.Plan{PerMinute: ratelimit.Unlimited, PerDay: ratelimit.Unlimited}
	perMinute, perDay := w.RequestLimits()
	if perMinute != nil {
		plan.PerMinute = *perMinute
	}
	if perDay != nil {
		plan.PerDay = *perDay
	}
	return plan
}

// workspaceOfPath returns the workspace in the path, or a NotFound error.
func (a *Admin) workspaceOfPath(r *http.Request) (access.Workspace, error) {
	id, err := request.PathID(r, "id", "workspace")
	if err != nil {
		return access.Workspace{}, err
	}
	found, err := a.deps.Workspaces.WorkspacesByID(r.Context(), []uuid.UUID{id})
	if err != nil {
		return access.Workspace{}, err
	}
	if len(found) == 0 {
		return access.Workspace{}, fault.Newf(fault.NotFound, "No workspace %s", id)
	}
	return found[0], nil
}

type newWorkspace struct {
	Name          *string                 `json:"name"`
	Plan          *string                 `json:"plan"`
	Mode          *string                 `json:"mode"`
	PerMinute     request.Nullable[int64] `json:"perMinute"`
	PerDay        request.Nullable[int64] `json:"perDay"`
	MaxSources    *int64                  `json:"maxSources"`
	MaxSeries     *int64                  `json:"maxSeries"`
	RetentionDays request.Nullable[int32] `json:"retentionDays"`
}

// createWorkspace creates a workspace.
func (a *Admin) createWorkspace(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	var body newWorkspace
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	spec := access.Workspace{Plan: access.PlanStarter, Mode: apikey.Live}
	var check request.Check
	check.Required("name", body.Name != nil)
	if body.Name != nil {
		spec.Name = *body.Name
	}
	if body.Mode != nil {
		spec.Mode = *body.Mode
	}
	if body.Plan != nil {
		spec.Plan = *body.Plan
	}
	check.OneOf("mode", spec.Mode, apikey.Live, apikey.Test)
	requested := workspaceLimits{
		name: body.Name, plan: &spec.Plan, perMinute: body.PerMinute, perDay: body.PerDay,
		maxSources: body.MaxSources, maxSeries: body.MaxSeries, retentionDays: body.RetentionDays,
	}
	requested.check(&check, spec.Plan)
	// CreateWorkspace would replace zero by the default.
	for field, limit := range map[string]*int64{"maxSources": body.MaxSources, "maxSeries": body.MaxSeries} {
		if limit != nil && *limit == 0 {
			check.Fail(field, "must be at least 1 for a new workspace")
		}
	}
	if err := check.Err(); err != nil {
		return err
	}
	spec.PerMinute, spec.PerDay = valueOf(body.PerMinute), valueOf(body.PerDay)
	spec.RetentionDays = valueOf(body.RetentionDays)
	if body.MaxSources != nil {
		spec.MaxSources = *body.MaxSources
	}
	if body.MaxSeries != nil {
		spec.MaxSeries = *body.MaxSeries
	}
	created, err := a.deps.Workspaces.CreateWorkspace(r.Context(), spec)
	if err != nil {
		return err
	}
	request.NotesOf(r.Context()).AddResult(created.ID.String())
	reply.Data(w, r, http.StatusCreated, workspaceOf(&created))
	return nil
}

type workspacePatch struct {
	Name          *string                 `json:"name"`
	Plan          *string                 `json:"plan"`
	PerMinute     request.Nullable[int64] `json:"perMinute"`
	PerDay        request.Nullable[int64] `json:"perDay"`
	MaxSources    *int64                  `json:"maxSources"`
	MaxSeries     *int64                  `json:"maxSeries"`
	RetentionDays request.Nullable[int32] `json:"retentionDays"`
}

// updateWorkspace changes the fields in the body. Custom limits are removed unless the plan is
// enterprise, because other plans have fixed limits.
func (a *Admin) updateWorkspace(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	current, err := a.workspaceOfPath(r)
	if err != nil {
		return err
	}
	var body workspacePatch
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	plan := current.Plan
	if body.Plan != nil {
		plan = *body.Plan
	}
	requested := workspaceLimits{
		name: body.Name, plan: body.Plan, perMinute: body.PerMinute, perDay: body.PerDay,
		maxSources: body.MaxSources, maxSeries: body.MaxSeries, retentionDays: body.RetentionDays,
	}
	var check request.Check
	requested.check(&check, plan)
	if err := check.Err(); err != nil {
		return err
	}
	change := access.WorkspaceChange{
		Name: body.Name, Plan: body.Plan, PerMinute: changeOf(body.PerMinute), PerDay: changeOf(body.PerDay),
		MaxSources: body.MaxSources, MaxSeries: body.MaxSeries, RetentionDays: changeOf(body.RetentionDays),
	}
	if plan != access.PlanEnterprise {
		change.PerMinute, change.PerDay = new(*int64), new(*int64)
	}
	updated, err := a.deps.Workspaces.UpdateWorkspace(r.Context(), current.ID, change)
	if err != nil {
		return err
	}
	reply.Data(w, r, http.StatusOK, workspaceOf(&updated))
	return nil
}

// workspaceLimits are the fields of a new or changed workspace that are validated. A field
// that is nil or not set is not in the body.
type workspaceLimits struct {
	name, plan            *string
	perMinute, perDay     request.Nullable[int64]
	maxSources, maxSeries *int64
	retentionDays         request.Nullable[int32]
}

// Bounds of a workspace's limits and retention.
const (
	maxResourceLimit = 1_000_000_000
	maxRetentionDays = 36_500 // days: a hundred years
)

func (l *workspaceLimits) check(check *request.Check, plan string) {
	if l.name != nil {
		check.Text("name", *l.name, 1, 256)
	}
	if l.plan != nil {
		check.OneOf("plan", *l.plan, access.Plans()...)
	}
	for _, limit := range []struct {
		field string
		value request.Nullable[int64]
	}{{"perMinute", l.perMinute}, {"perDay", l.perDay}} {
		switch {
		case !limit.value.Set || limit.value.Null:
		case plan != access.PlanEnterprise:
			check.Fail(limit.field, "is for the plan enterprise; the others have their own limits")
		default: // the headers of responses show larger limits as unlimited
			request.Between(check, limit.field, limit.value.Value, 1, ratelimit.Unlimited-1)
		}
	}
	if l.maxSources != nil {
		request.Between(check, "maxSources", *l.maxSources, 0, maxResourceLimit)
	}
	if l.maxSeries != nil {
		request.Between(check, "maxSeries", *l.maxSeries, 0, maxResourceLimit)
	}
	if l.retentionDays.Set && !l.retentionDays.Null {
		request.Between(check, "retentionDays", l.retentionDays.Value, 1, maxRetentionDays)
	}
}

// valueOf returns the value of a field, or nil if it is null or not set.
func valueOf[T any](n request.Nullable[T]) *T {
	if !n.Set || n.Null {
		return nil
	}
	return &n.Value
}

// changeOf returns a field as a change: nil keeps the value, a pointer to nil clears it.
func changeOf[T any](n request.Nullable[T]) **T {
	if !n.Set {
		return nil
	}
	return new(valueOf(n))
}
