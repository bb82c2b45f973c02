package e2e

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"
)

const (
	opSaveQuery  = "POST /api/rag/queries"
	opPatchSaved = "PATCH /api/rag/queries/{id}"
	opRunSaved   = "POST /api/rag/queries/{id}/run"
	savedQueries = "/api/rag/queries"
)

// writeSavedQueryCanaries saves, changes and runs queries, and deletes one.
func (w *tenants) writeSavedQueryCanaries() {
	w.t.Helper()
	fields := func(of string) object {
		c := func(field string) string { return w.canary(of + " saved query's " + field) }
		return object{"name": c("name"), "description": c("description"), "request": object{
			"query": c("query"), "properties": object{c("filter's key"): []any{c("filter's value")}},
			"relationTypes": []any{c("relation")}, "nodeIds": []any{w.values["node"]},
			"documents": []any{w.values["document"]}, "tags": []any{c("tag")}, "allTags": []any{c("second tag")},
			"propertyMin":    object{c("lower bound's key"): c("lower bound")},
			"propertyMax":    object{c("upper bound's key"): c("upper bound")},
			"propertyPrefix": object{c("prefix's key"): c("prefix")},
		}}
	}
	created := fields("new")
	created["id"], created["kind"] = uuid.NewString(), "hybrid-search"
	w.values["savedQuery"] = created["id"].(string)
	w.ids[w.values["savedQuery"]] = "a saved query"
	w.writeJSON(opSaveQuery, savedQueries, created, http.StatusCreated)
	path := savedQueries + "/" + w.values["savedQuery"]
	changed := fields("changed")
	w.values["savedName"] = changed["name"].(string)
	w.writeJSON(opPatchSaved, path, changed, http.StatusOK)
	w.write(
		opPatchSaved, path, "application/merge-patch+json",
		fmt.Sprintf(
			`{"request":{"query":%q,"properties":null,"propertyMin":null,"propertyMax":null,"propertyPrefix":null,`+
				`"relationTypes":null,"documents":null,"tags":null,"allTags":null}}`, w.values["name"],
		), nil, http.StatusOK,
	)
	w.writeJSON(opRunSaved, path+"/run", object{
		"query": w.canary("query of a run"), "tags": []any{w.canary("tag of a run")},
		"allTags": []any{w.canary("required tag of a run")}, "documents": []any{w.values["document"]},
	}, http.StatusOK)
	question := object{"query": w.canary("deleted query's question")}
	gone := object{"name": w.canary("deleted query"), "kind": "answer", "request": question}
	w.values["goneQuery"] = w.id(w.writeJSON(opSaveQuery, savedQueries, gone, http.StatusCreated), "id")
	w.write("DELETE /api/rag/queries/{id}", savedQueries+"/"+w.values["goneQuery"], "", "", nil, http.StatusNoContent)
}
