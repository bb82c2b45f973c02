package livegraph

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// Rules are files of recording and alerting rules in the format of Prometheus.
type Rules struct{ t *transport }

// Put creates or replaces a file, in YAML. The name consists of 1 to 100 letters, digits, dots, hyphens and
// underscores. The rules are evaluated from about a second later on. The error is [ErrInvalid] if the file has
// errors, and nothing has changed; Details.Problems of the [APIError] lists them with their lines.
func (r *Rules) Put(ctx context.Context, name, content string) (*StoredRuleFile, error) {
	return r.put(ctx, name, content, nil)
}

// Check checks a file like Put, and stores nothing. The result has no version and no times.
func (r *Rules) Check(ctx context.Context, name, content string) (*StoredRuleFile, error) {
	return r.put(ctx, name, content, url.Values{"dryRun": {"true"}})
}

func (r *Rules) put(ctx context.Context, name, content string, query url.Values) (*StoredRuleFile, error) {
	request := putRuleFile.request(name)
	request.Body, request.Header = []byte(content), http.Header{"Content-Type": {"application/yaml"}}
	request.Query = query
	return fetch[*StoredRuleFile](ctx, r.t, request)
}

// Get returns a file with its text, as it was sent.
func (r *Rules) Get(ctx context.Context, name string) (*RuleFile, error) {
	return fetch[*RuleFile](ctx, r.t, getRuleFile.request(name))
}

// List returns a page of the files by name, without their texts, and whether their rules fail.
func (r *Rules) List(ctx context.Context, paging Paging) (*Page[ListedRuleFile], error) {
	return fetchPage[ListedRuleFile](ctx, r.t, listRuleFiles.withQuery(paging.values(nil)))
}

// All iterates over all files by name, without their texts.
func (r *Rules) All(ctx context.Context) iter.Seq2[ListedRuleFile, error] {
	return pages[ListedRuleFile](ctx, r.t, listRuleFiles.request())
}

// Delete deletes a file. Its alerts are resolved about a second later. The error is [ErrNotFound] if the file does
// not exist; after a connection that broke, this may be the result of the repeated request.
func (r *Rules) Delete(ctx context.Context, name string) error {
	return execute(ctx, r.t, deleteRuleFile.request(name))
}

// Alerts are the active alerts of the rules, and the Alertmanagers to which they are sent.
type Alerts struct{ t *transport }

// List returns a page of the alerts in a state, or of all if it is "": those that fire, then those that are pending,
// newest first.
func (a *Alerts) List(ctx context.Context, state AlertState, paging Paging) (*Page[Alert], error) {
	return fetchPage[Alert](ctx, a.t, listAlerts.withQuery(paging.values(textQuery("state", state))))
}

// All iterates over all active alerts in a state, or all if it is "".
func (a *Alerts) All(ctx context.Context, state AlertState) iter.Seq2[Alert, error] {
	return pages[Alert](ctx, a.t, listAlerts.withQuery(textQuery("state", state)))
}

// alertmanagerList is the list of Alertmanagers in a response.
type alertmanagerList struct {
	Alertmanagers []Alertmanager `json:"alertmanagers"`
}

// Alertmanagers returns the Alertmanagers of the workspace by URL, without their secrets. It requires the scope admin.
func (a *Alerts) Alertmanagers(ctx context.Context) ([]Alertmanager, error) {
	list, err := fetch[alertmanagerList](ctx, a.t, getAlertmanagers.request())
	return list.Alertmanagers, err
}

// SetAlertmanagers replaces the Alertmanagers of the workspace and returns them, without their secrets. A password, a
// token or the value of a header that is empty stays as it is stored for the same URL; the error is [ErrInvalid] if
// none is stored. It requires the scope admin.
func (a *Alerts) SetAlertmanagers(ctx context.Context, all []NewAlertmanager) ([]Alertmanager, error) {
	if all == nil {
		all = []NewAlertmanager{}
	}
	r, err := setAlertmanagers.withBody(map[string]any{"alertmanagers": all})
	if err != nil {
		return nil, err
	}
	list, err := fetch[alertmanagerList](ctx, a.t, r)
	return list.Alertmanagers, err
}
