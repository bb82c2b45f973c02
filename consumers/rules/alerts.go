package rules

import (
	"context"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"

	"github.com/livegraph/livegraph/storage/postgres/alerting"
)

// alertKey identifies an alert of a workspace.
type alertKey struct {
	file, group string
	fingerprint uint64
}

func keyOf(a *alerting.Alert) alertKey { return alertKey{a.File, a.Group, a.Fingerprint} }

// record has the alerts of which it is recorded that they fire.
type record struct {
	mu     sync.Mutex
	firing map[alertKey]alerting.Alert
}

func newRecord(alerts []alerting.Alert) *record {
	r := &record{firing: map[alertKey]alerting.Alert{}}
	for i := range alerts {
		r.firing[keyOf(&alerts[i])] = alerts[i]
	}
	return r
}

// recordAlerts records which alerts of a group fire now, and those that no longer do.
func (e *evaluator) recordAlerts(ctx context.Context, g *rules.Group) error {
	active := map[alertKey]bool{} // pending or firing
	var firing []alerting.Alert
	names, failed := map[string]bool{}, map[string]bool{} // of alerting rules
	for _, r := range g.AlertingRules() {
		names[r.Name()] = true
		if r.Health() != rules.HealthGood {
			failed[r.Name()] = true
		}
		for _, a := range r.ActiveAlerts() {
			alert := alerting.Alert{
				File: g.File(), Group: g.Name(), Fingerprint: a.Labels.Hash(), Labels: textsOf(a.Labels),
				Annotations: textsOf(a.Annotations), Value: a.Value, ActiveAt: a.ActiveAt, FiredAt: a.FiredAt,
			}
			active[keyOf(&alert)] = true
			if a.State == rules.StateFiring {
				firing = append(firing, alert)
			}
		}
	}
	return e.store(ctx, firing, func(a *alerting.Alert) bool {
		name := a.Labels[labels.AlertName]
		// After a restart an alert is pending before it fires again. It is resolved only when its rule no longer selects it.
		return a.File == g.File() && a.Group == g.Name() && !active[keyOf(a)] && !failed[name]
	})
}

// textsOf returns labels as texts that can be stored: templates can produce U+0000, and cut characters.
func textsOf(ls labels.Labels) map[string]string {
	texts := make(map[string]string, ls.Len())
	ls.Range(func(l labels.Label) {
		texts[l.Name] = strings.ReplaceAll(strings.ToValidUTF8(l.Value, "\uFFFD"), "\x00", "\uFFFD")
	})
	return texts
}

// resolveRemoved resolves the alerts of rules that no longer exist.
func (e *evaluator) resolveRemoved(ctx context.Context) error {
	type name struct{ file, group, alert string }
	exists := map[name]bool{}
	for _, g := range e.manager.RuleGroups() {
		for _, r := range g.AlertingRules() {
			exists[name{g.File(), g.Name(), r.Name()}] = true
		}
	}
	return e.store(ctx, nil, func(a *alerting.Alert) bool {
		return !exists[name{a.File, a.Group, a.Labels[labels.AlertName]}]
	})
}

// store records alerts that fire, unless they are recorded, and the resolution of recorded ones.
func (e *evaluator) store(ctx context.Context, firing []alerting.Alert, resolve func(*alerting.Alert) bool) error {
	e.alerts.mu.Lock()
	defer e.alerts.mu.Unlock()
	var fired, resolved []alerting.Alert
	for i := range firing {
		if _, recorded := e.alerts.firing[keyOf(&firing[i])]; !recorded {
			fired = append(fired, firing[i])
		}
	}
	for _, a := range e.alerts.firing {
		if resolve(&a) {
			resolved = append(resolved, a)
		}
	}
	if len(fired)+len(resolved) == 0 {
		return nil
	}
	err := e.Store.RecordAlerts(ctx, e.workspace, fired, resolved,
		func(ctx context.Context, tx pgx.Tx, fired, resolved []alerting.Alert) error {
			if e.Notify == nil {
				return nil
			}
			return e.Notify(ctx, tx, e.workspace, fired, resolved)
		})
	if err != nil {
		return err
	}
	for i := range fired {
		e.alerts.firing[keyOf(&fired[i])] = fired[i]
	}
	for i := range resolved {
		delete(e.alerts.firing, keyOf(&resolved[i]))
	}
	e.metrics.changes.WithLabelValues("firing").Add(float64(len(fired)))
	e.metrics.changes.WithLabelValues("resolved").Add(float64(len(resolved)))
	return nil
}
