package rules

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
)

// alertmanagers is the JSON form of the Alertmanagers of a workspace. It contains no secret.
type alertmanagers struct {
	URLs          []string       `json:"urls"`
	Alertmanagers []alertmanager `json:"alertmanagers"`
}

// alertmanager is the JSON form of an Alertmanager. If it has an authorization, its password or token is stored.
type alertmanager struct {
	URL           string         `json:"url"`
	Authorization *authorization `json:"authorization"`
	Headers       []header       `json:"headers"`
	UpdatedAt     time.Time      `json:"updatedAt"`
	LastSentAt    *time.Time     `json:"lastSentAt"`
	LastFailedAt  *time.Time     `json:"lastFailedAt"`
	LastError     *string        `json:"lastError"`
}

type authorization struct {
	Type     alerting.Auth `json:"type"`
	Username *string       `json:"username"` // null: the type has none
}

type header struct {
	Name string `json:"name"`
}

// settingsOf returns the part of listOf that clients set.
func settingsOf(all []alerting.Alertmanager) alertmanagers {
	list := listOf(all)
	for i := range list.Alertmanagers {
		a := &list.Alertmanagers[i]
		a.LastSentAt, a.LastFailedAt, a.LastError = nil, nil, nil
	}
	return list
}

// listOf returns the JSON form of Alertmanagers, of which there may be none.
func listOf(all []alerting.Alertmanager) alertmanagers {
	list := alertmanagers{URLs: make([]string, len(all)), Alertmanagers: make([]alertmanager, len(all))}
	for i := range all {
		list.URLs[i], list.Alertmanagers[i] = all[i].URL, alertmanagerOf(&all[i])
	}
	return list
}

func alertmanagerOf(a *alerting.Alertmanager) alertmanager {
	shown := alertmanager{
		URL: a.URL, Headers: make([]header, 0, len(a.Headers)), UpdatedAt: a.UpdatedAt,
		LastSentAt: a.Result.SentAt, LastFailedAt: a.Result.FailedAt,
	}
	if a.Result.Failure != "" {
		shown.LastError = &a.Result.Failure
	}
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		shown.Headers = append(shown.Headers, header{name})
	}
	switch a.Auth {
	case alerting.Basic:
		shown.Authorization = &authorization{alerting.Basic, &a.Username}
	case alerting.Bearer:
		shown.Authorization = &authorization{Type: alerting.Bearer}
	case alerting.NoAuth:
	}
	return shown
}

func (a *api) alertmanagers(w http.ResponseWriter, r *http.Request) error {
	if err := request.NoInput(r); err != nil {
		return err
	}
	all, err := a.Store.Alertmanagers(r.Context(), request.PrincipalOf(r.Context()).Workspace)
	if err != nil {
		return err
	}
	reply.ResourceWithState(w, r, listOf(all), settingsOf(all))
	return nil
}

func (a *api) setAlertmanagers(w http.ResponseWriter, r *http.Request) error {
	condition, err := reply.ConditionOf(r)
	if err != nil {
		return err
	}
	var body setAlertmanagers
	if err := request.JSON(r, &body); err != nil {
		return err
	}
	if err := body.check(a.CheckURL); err != nil {
		return err
	}
	workspace := request.PrincipalOf(r.Context()).Workspace
	stored, err := a.Store.SetAlertmanagers(r.Context(), workspace,
		func(current []alerting.Alertmanager) ([]alerting.Alertmanager, error) {
			if err := condition.Check(settingsOf(current)); err != nil {
				return nil, err
			}
			return body.replace(current)
		})
	if err != nil {
		return err
	}
	reply.ChangedWithState(w, r, http.StatusOK, listOf(stored), settingsOf(stored))
	return nil
}
