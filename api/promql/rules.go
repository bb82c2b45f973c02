package promql

import (
	"context"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/livegraph/livegraph/internal/services/promstore"
	"github.com/livegraph/livegraph/internal/services/rulestate"
)

// ruleStore has the state of rules; see storage/postgres/alerting.
type ruleStore interface {
	RuleState(ctx context.Context, workspace uuid.UUID) ([]byte, error)
}

// ruleGroups is the data of an answer with rules.
type ruleGroups struct {
	Groups []rulestate.Group `json:"groups"`
}

// rules answers with the groups of rules and their alerts, as the last evaluations left them.
func (a *api) rules(ctx context.Context, c *call) (answer, func(), error) {
	kind := c.form.get("type")
	if kind != "" && kind != "alert" && kind != "record" {
		return answer{}, nil, invalidParameter("type", `must be "alert" or "record"`)
	}
	exclude := false
	if text := c.form.get("exclude_alerts"); text != "" {
		var err error
		if exclude, err = strconv.ParseBool(text); err != nil {
			return answer{}, nil, invalidParameter("exclude_alerts", "must be true or false")
		}
	}
	selectors, _, err := a.selectors(c)
	if err != nil {
		return answer{}, nil, err
	}
	groups, err := a.ruleState(ctx, c.workspace)
	if err != nil {
		return answer{}, nil, err
	}
	found := ruleGroups{Groups: []rulestate.Group{}}
	for _, g := range groups {
		if !accepts(c.form.values["rule_group[]"], g.Name) || !accepts(c.form.values["file[]"], g.File) {
			continue
		}
		g.Rules = slices.DeleteFunc(g.Rules, func(r rulestate.Rule) bool {
			return kind == "alert" && r.Type != rulestate.Alerting || kind == "record" && r.Type != rulestate.Recording ||
				!accepts(c.form.values["rule_name[]"], r.Name) || !selects(selectors, r.Labels)
		})
		for i := range g.Rules {
			if exclude {
				g.Rules[i].Alerts = nil
			}
		}
		if len(g.Rules) > 0 {
			found.Groups = append(found.Groups, g)
		}
	}
	return answer{data: object{found}}, nil, nil
}

// accepts reports whether a value is in a list, or the list is empty.
func accepts(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }

// selects reports whether labels match all matchers of a selector, or there are no selectors.
func selects(selectors [][]*labels.Matcher, ls labels.Labels) bool {
	return len(selectors) == 0 || slices.ContainsFunc(selectors, func(matchers []*labels.Matcher) bool {
		return promstore.MatchesAll(matchers, ls)
	})
}

// activeAlerts is the data of an answer with alerts.
type activeAlerts struct {
	Alerts []rulestate.Alert `json:"alerts"`
}

// alerts answers with the active alerts.
func (a *api) alerts(ctx context.Context, c *call) (answer, func(), error) {
	groups, err := a.ruleState(ctx, c.workspace)
	if err != nil {
		return answer{}, nil, err
	}
	active := activeAlerts{Alerts: []rulestate.Alert{}}
	for i := range groups {
		for j := range groups[i].Rules {
			active.Alerts = append(active.Alerts, groups[i].Rules[j].Alerts...)
		}
	}
	return answer{data: object{active}}, nil, nil
}

func (a *api) ruleState(ctx context.Context, workspace uuid.UUID) ([]rulestate.Group, error) {
	state, err := a.Rules.RuleState(ctx, workspace)
	if err != nil {
		return nil, err
	}
	return rulestate.Decode(state)
}
