package rules

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/services/rulestate"
)

// alert is the JSON form of an active alert.
type alert struct {
	State       string            `json:"state"` // pending or firing
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"` // without the name
	Annotations map[string]string `json:"annotations"`
	Value       string            `json:"value"`
	ActiveAt    *time.Time        `json:"activeAt"`
	File        string            `json:"file"`
	Group       string            `json:"group"`
}

// state returns the rules of the request's workspace, as their last evaluations left them.
func (a *api) state(r *http.Request) ([]rulestate.Group, error) {
	state, err := a.Store.RuleState(r.Context(), request.PrincipalOf(r.Context()).Workspace)
	if err != nil {
		return nil, err
	}
	return rulestate.Decode(state)
}

// add adds the state of the rules of the file.
func (f *listedFile) add(groups []rulestate.Group) {
	for i := range groups {
		g := &groups[i]
		if g.File != f.Name {
			continue
		}
		if !g.LastEvaluation.IsZero() && (f.LastEvaluation == nil || g.LastEvaluation.After(*f.LastEvaluation)) {
			f.LastEvaluation = &g.LastEvaluation
		}
		for j := range g.Rules {
			if text := g.Rules[j].LastError; text != "" {
				f.Failing++
				f.LastError = cmp.Or(f.LastError, &text)
			}
		}
	}
}

// alerts lists the active alerts: those that fire first, then the newest first.
func (a *api) alerts(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	limit, offset := p.Page()
	state := p.OneOf("state", "", "firing", "pending")
	if err := p.Err(); err != nil {
		return err
	}
	groups, err := a.state(r)
	if err != nil {
		return err
	}
	var active []alert
	for i := range groups {
		for j := range groups[i].Rules {
			for _, found := range groups[i].Rules[j].Alerts {
				if state == "" || found.State == state {
					active = append(active, alertOf(&groups[i], &found))
				}
			}
		}
	}
	slices.SortStableFunc(active, func(x, y alert) int {
		if x.State != y.State || x.ActiveAt == nil || y.ActiveAt == nil {
			return cmp.Compare(x.State, y.State)
		}
		return y.ActiveAt.Compare(*x.ActiveAt)
	})
	page := reply.PageOf(active, limit, offset)
	reply.List(w, r, page, reply.PageMeta(int64(len(active)), limit, offset, len(page)))
	return nil
}

func alertOf(g *rulestate.Group, a *rulestate.Alert) alert {
	others := a.Labels.Map()
	delete(others, labels.AlertName)
	return alert{
		State: a.State, Name: a.Labels.Get(labels.AlertName), Labels: others, Annotations: a.Annotations.Map(),
		Value: a.Value, ActiveAt: a.ActiveAt, File: g.File, Group: g.Name,
	}
}
