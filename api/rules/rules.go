// Package rules serves the files of recording and alerting rules of a workspace, and the Alertmanagers to which its
// alerts are sent. Package promql serves the state of the rules, as Prometheus does.
package rules

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/rulefile"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
)

// store has the files; see storage/postgres/alerting.
type store interface {
	ListRuleFiles(ctx context.Context, workspace uuid.UUID) ([]alerting.RuleFile, error)
	RuleFile(ctx context.Context, workspace uuid.UUID, name string) (alerting.RuleFile, error)
	PutRuleFile(
		ctx context.Context, workspace uuid.UUID, f *alerting.RuleFile, check func(current *alerting.RuleFile) error,
	) (stored alerting.RuleFile, created bool, err error)
	DeleteRuleFile(ctx context.Context, workspace uuid.UUID, name string) error
	RuleState(ctx context.Context, workspace uuid.UUID) ([]byte, error)
	Alertmanagers(ctx context.Context, workspace uuid.UUID) ([]alerting.Alertmanager, error)
	SetAlertmanagers(
		ctx context.Context, workspace uuid.UUID,
		change func(current []alerting.Alertmanager) ([]alerting.Alertmanager, error),
	) ([]alerting.Alertmanager, error)
}

// Deps are the dependencies and settings of the routes.
type Deps struct {
	Store store
	// MinInterval is the shortest interval of a group.
	MinInterval time.Duration
	// CheckURL returns why no request may be sent to a URL, nil if one may.
	CheckURL func(address string) error
}

type api struct{ Deps }

const (
	filesPath         = "/api/rules"
	filePath          = "/api/rules/{name}"
	alertsPath        = "/api/alerts"
	alertmanagersPath = "/api/alertmanagers"
)

// Routes returns the group's routes.
func Routes(deps Deps) []route.Route {
	a := &api{deps}
	read := []request.Scope{request.ReadLiveData}
	write := []request.Scope{request.ReadLiveData, request.WriteLiveData} // rules read points and write points
	admin := []request.Scope{request.Admin}
	return []route.Route{
		{Method: http.MethodGet, Pattern: filesPath, Scopes: read, Handle: a.list},
		{Method: http.MethodGet, Pattern: filePath, Scopes: read, Handle: a.get},
		{Method: http.MethodPut, Pattern: filePath, Scopes: write, RequireAllScopes: true, Handle: a.put},
		{Method: http.MethodDelete, Pattern: filePath, Scopes: write, RequireAllScopes: true, Handle: a.delete},
		{Method: http.MethodGet, Pattern: alertsPath, Scopes: read, Handle: a.alerts},
		{Method: http.MethodGet, Pattern: alertmanagersPath, Scopes: admin, Handle: a.alertmanagers},
		{Method: http.MethodPut, Pattern: alertmanagersPath, Scopes: admin, Handle: a.setAlertmanagers},
	}
}

// file is the JSON form of a file.
type file struct {
	Name      string    `json:"name"`
	Groups    int       `json:"groups"`
	Rules     int       `json:"rules"`
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// listedFile is the JSON form of a file with the state of its rules.
type listedFile struct {
	file
	LastEvaluation *time.Time `json:"lastEvaluation"` // nil: not evaluated yet
	Failing        int        `json:"failing"`        // rules whose last evaluation failed
	LastError      *string    `json:"lastError"`      // of the first of them
}

// fileWithContent is the JSON form of a file with its text.
type fileWithContent struct {
	file
	Content string `json:"content"`
}

func fileOf(f *alerting.RuleFile) file {
	return file{
		Name: f.Name, Groups: f.Groups, Rules: f.Rules, Version: f.Version, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
	}
}

func contentOf(f *alerting.RuleFile) fileWithContent { return fileWithContent{fileOf(f), f.Content} }

func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	limit, offset := p.Page()
	if err := p.Err(); err != nil {
		return err
	}
	files, err := a.Store.ListRuleFiles(r.Context(), request.PrincipalOf(r.Context()).Workspace)
	if err != nil {
		return err
	}
	groups, err := a.state(r)
	if err != nil {
		return err
	}
	page := reply.PageOf(files, limit, offset)
	items := make([]listedFile, len(page))
	for i := range page {
		items[i] = listedFile{file: fileOf(&page[i])}
		items[i].add(groups)
	}
	reply.List(w, r, items, reply.PageMeta(int64(len(files)), limit, offset, len(items)))
	return nil
}

func (a *api) get(w http.ResponseWriter, r *http.Request) error {
	if err := request.NoInput(r); err != nil {
		return err
	}
	// A name that no file can have is unknown, too.
	f, err := a.Store.RuleFile(r.Context(), request.PrincipalOf(r.Context()).Workspace, chi.URLParam(r, "name"))
	if err != nil {
		return err
	}
	reply.Resource(w, r, contentOf(&f))
	return nil
}

func (a *api) put(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "name")
	if !namePattern.MatchString(name) {
		return fault.Field(fault.Malformed, "name",
			"must have 1 to 100 characters: letters, digits, dots, hyphens and underscores, beginning with a letter or digit")
	}
	p := request.Query(r)
	dryRun := p.Bool("dryRun")
	if err := p.Err(); err != nil {
		return err
	}
	condition, err := reply.ConditionOf(r)
	if err != nil {
		return err
	}
	body, release, err := request.Body(w, r, rulefile.MaxBytes, request.Types(
		"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "application/json",
	))
	if err != nil {
		return err
	}
	defer release()
	groups, err := rulefile.Parse(body, a.MinInterval)
	if err != nil {
		return err
	}
	f := alerting.RuleFile{
		Name: name, Content: string(body), Groups: len(groups.Groups), Rules: rulefile.Count(groups),
	}
	if dryRun {
		reply.Data(w, r, http.StatusOK, checked{Name: f.Name, Groups: f.Groups, Rules: f.Rules})
		return nil
	}
	workspace := request.PrincipalOf(r.Context()).Workspace
	stored, created, err := a.Store.PutRuleFile(r.Context(), workspace, &f, func(current *alerting.RuleFile) error {
		if current == nil {
			return condition.Check(nil)
		}
		return condition.Check(contentOf(current))
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	reply.Changed(w, r, status, fileOf(&stored), contentOf(&stored))
	return nil
}

// checked is the answer to a dry run.
type checked struct {
	Name   string `json:"name"`
	Groups int    `json:"groups"`
	Rules  int    `json:"rules"`
}

func (a *api) delete(w http.ResponseWriter, r *http.Request) error {
	if err := request.NoInput(r); err != nil {
		return err
	}
	workspace := request.PrincipalOf(r.Context()).Workspace
	if err := a.Store.DeleteRuleFile(r.Context(), workspace, chi.URLParam(r, "name")); err != nil {
		return err
	}
	reply.NoContent(w)
	return nil
}

// namePattern is the form of the name of a file.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
