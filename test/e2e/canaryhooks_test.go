package e2e

import "net/http"

const (
	opWebhooks     = "POST /api/webhooks"
	opPatchWebhook = "PATCH /api/webhooks/{id}"
)

// writeWebhookCanaries creates and changes a webhook, and sends a test event to it. Its host does not exist.
func (w *tenants) writeWebhookCanaries() {
	w.t.Helper()
	fields := func(of string) object {
		c := func(field string) string { return w.canary(of + " webhook's " + field) }
		return object{
			"name": c("name"), "url": "https://x.invalid/" + c("URL"), "labels": object{c("label"): c("label's value")},
			"relationTypes": []any{c("relation type")}, "nodeIds": []any{w.values["node"]},
		}
	}
	created := fields("new")
	created["events"] = []any{"node.created"}
	w.values["webhook"] = w.id(w.writeJSON(opWebhooks, "/api/webhooks", created, http.StatusCreated), "id")
	path := "/api/webhooks/" + w.values["webhook"]
	w.writeJSON(opPatchWebhook, path, fields("changed"), http.StatusOK)
	w.write(opPatchWebhook, path, "application/merge-patch+json", `{"enabled":true}`, nil, http.StatusOK)
	queued := w.write("POST /api/webhooks/{id}/test", path+"/test", "", "", nil, http.StatusAccepted)
	w.values["delivery"] = w.id(queued, "id")
}
