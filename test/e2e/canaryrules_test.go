package e2e

import (
	"encoding/json"
	"net/http"

	"github.com/stretchr/testify/require"
)

const (
	opRules         = "PUT /api/rules/{name}"
	opAlertmanagers = "PUT /api/alertmanagers"
)

// writeRuleCanaries stores a file of rules, tries to store one with an error, and sets Alertmanagers. Their hosts do
// not exist. The alert never fires, because its series would be sources and series of the tenant.
func (w *tenants) writeRuleCanaries() {
	w.t.Helper()
	c := w.canary
	rule := object{
		"alert": c("alert"), "expr": "vector(1) < 0", "labels": object{c("name of an alert's label"): c("alert's label")},
		"annotations": object{c("name of an annotation"): c("annotation")},
	}
	group := object{
		"name": c("group"), "interval": "5s", "rules": []any{rule},
		"labels": object{c("name of a group's label"): c("label")},
	}
	file := object{"groups": []any{group}}
	w.writeJSON(opRules, "/api/rules/machines", file, http.StatusCreated)
	text, err := json.Marshal(file)
	require.NoError(w.t, err)
	w.write(opRules, "/api/rules/machines", "application/yaml", string(text)+"\n# "+c("comment"), nil, http.StatusOK)
	rule["expr"], rule["record"] = c("no expression")+" +", c("metric")
	rule["for"], rule["keep_firing_for"] = c("time of pending"), c("time of firing")
	group["interval"], group["query_offset"] = c("interval"), c("offset")
	w.writeJSON(opRules, "/api/rules/others", file, http.StatusBadRequest)
	manager := object{
		"url": "https://x.invalid/" + c("Alertmanager's URL"),
		"authorization": object{
			"type": "basic", "username": c("Alertmanager's user"), "password": c("Alertmanager's password"),
		},
		"headers": []any{object{"name": c("name of an Alertmanager's header"), "value": c("Alertmanager's header")}},
	}
	w.writeJSON(opAlertmanagers, "/api/alertmanagers", object{"alertmanagers": []any{manager}}, http.StatusOK)
	token := object{"type": "bearer", "token": c("Alertmanager's token")}
	second := object{"url": "https://y.invalid/" + c("second Alertmanager's URL"), "authorization": token}
	w.writeJSON(opAlertmanagers, "/api/alertmanagers", object{"alertmanagers": []any{manager, second}}, http.StatusOK)
	w.writeJSON(opAlertmanagers, "/api/alertmanagers",
		object{"urls": []any{"https://z.invalid/" + c("third Alertmanager's URL")}}, http.StatusOK)
}
