// Package rulestate describes the rules of a workspace as their last evaluation left them. The process that evaluates
// rules stores it, and the API answers with it. The fields are those of Prometheus' API.
package rulestate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
)

// maxAlerts is the maximum number of alerts of a workspace that are listed. Further ones are left out.
const maxAlerts = 2000

// Types of rules.
const (
	Alerting  = "alerting"
	Recording = "recording"
)

// Group is a group of rules.
type Group struct {
	Name           string    `json:"name"`
	File           string    `json:"file"`
	Rules          []Rule    `json:"rules"`
	Interval       float64   `json:"interval"` // seconds
	Limit          int       `json:"limit"`
	EvaluationTime float64   `json:"evaluationTime"` // seconds
	LastEvaluation time.Time `json:"lastEvaluation"` // zero: not evaluated yet
}

// Rule is an alerting or a recording rule. State, Duration, KeepFiringFor, Annotations and Alerts are of alerting
// rules.
type Rule struct {
	State          string        `json:"state,omitempty"` // unknown, inactive, pending or firing
	Name           string        `json:"name"`
	Query          string        `json:"query"`
	Duration       float64       `json:"duration"`      // seconds
	KeepFiringFor  float64       `json:"keepFiringFor"` // seconds
	Labels         labels.Labels `json:"labels"`
	Annotations    labels.Labels `json:"annotations"`
	Alerts         []Alert       `json:"alerts"`
	Health         string        `json:"health"` // ok, err or unknown
	LastError      string        `json:"lastError,omitempty"`
	EvaluationTime float64       `json:"evaluationTime"` // seconds
	LastEvaluation time.Time     `json:"lastEvaluation"`
	Type           string        `json:"type"`
}

// MarshalJSON encodes a rule with the fields that Prometheus' API has for its type.
func (r Rule) MarshalJSON() ([]byte, error) {
	if r.Type != Recording {
		type alertingRule Rule
		return json.Marshal(alertingRule(r))
	}
	return json.Marshal(recordingRule{
		r.Name, r.Query, r.Labels, r.Health, r.LastError, r.EvaluationTime, r.LastEvaluation, r.Type,
	})
}

type recordingRule struct {
	Name           string        `json:"name"`
	Query          string        `json:"query"`
	Labels         labels.Labels `json:"labels"`
	Health         string        `json:"health"`
	LastError      string        `json:"lastError,omitempty"`
	EvaluationTime float64       `json:"evaluationTime"`
	LastEvaluation time.Time     `json:"lastEvaluation"`
	Type           string        `json:"type"`
}

// Alert is an active alert.
type Alert struct {
	Labels          labels.Labels `json:"labels"`
	Annotations     labels.Labels `json:"annotations"`
	State           string        `json:"state"` // pending or firing
	ActiveAt        *time.Time    `json:"activeAt,omitempty"`
	KeepFiringSince *time.Time    `json:"keepFiringSince,omitempty"`
	Value           string        `json:"value"`
}

// Of returns the state of the groups of a manager.
func Of(groups []*rules.Group) []Group {
	list := make([]Group, 0, len(groups))
	room := maxAlerts
	for _, g := range groups {
		group := Group{
			Name: g.Name(), File: g.File(), Rules: []Rule{}, Interval: g.Interval().Seconds(), Limit: g.Limit(),
			EvaluationTime: g.GetEvaluationTime().Seconds(), LastEvaluation: g.GetLastEvaluation().UTC(),
		}
		for _, r := range g.Rules() {
			group.Rules = append(group.Rules, ruleOf(r, &room))
		}
		list = append(list, group)
	}
	return list
}

func ruleOf(r rules.Rule, room *int) Rule {
	rule := Rule{
		Name: r.Name(), Query: r.Query().String(), Labels: r.Labels(), Health: string(r.Health()), Type: Recording,
		EvaluationTime: r.GetEvaluationDuration().Seconds(), LastEvaluation: r.GetEvaluationTimestamp().UTC(),
	}
	if err := r.LastError(); err != nil {
		rule.LastError = err.Error()
	}
	a, ok := r.(*rules.AlertingRule)
	if !ok {
		return rule
	}
	rule.Type, rule.State, rule.Annotations = Alerting, a.State().String(), a.Annotations()
	rule.Duration, rule.KeepFiringFor = a.HoldDuration().Seconds(), a.KeepFiringFor().Seconds()
	rule.Alerts = []Alert{}
	for _, alert := range a.ActiveAlerts() {
		if *room--; *room < 0 {
			break
		}
		active := alert.ActiveAt.UTC()
		listed := Alert{
			Labels: alert.Labels, Annotations: alert.Annotations, State: alert.State.String(), ActiveAt: &active,
			Value: strconv.FormatFloat(alert.Value, 'e', -1, 64),
		}
		if since := alert.KeepFiringSince.UTC(); !alert.KeepFiringSince.IsZero() {
			listed.KeepFiringSince = &since
		}
		rule.Alerts = append(rule.Alerts, listed)
	}
	return rule
}

// Encode encodes the state of a workspace's rules, as nil if there are none.
func Encode(groups []Group) ([]byte, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(groups)
	if err != nil {
		return nil, fmt.Errorf("encoding the state of rules: %w", err)
	}
	return text, nil
}

// Decode decodes what Encode encoded.
func Decode(text []byte) (groups []Group, err error) {
	if text == nil {
		return []Group{}, nil
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		return nil, fmt.Errorf("decoding the state of rules: %w", err)
	}
	return groups, nil
}
