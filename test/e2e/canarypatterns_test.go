package e2e

import "net/http"

const opPatterns = "POST /api/queries/patterns"

// writePatternCanaries matches a pattern with canaries as names and conditions.
func (w *tenants) writePatternCanaries() {
	w.t.Helper()
	c := w.canary
	from, to := c("name in a pattern"), c("other name in a pattern")
	w.writeJSON(opPatterns, "/api/queries/patterns", object{
		"nodes": object{
			from: object{
				"nodeIds": []any{w.values["node"]}, "name": c("part of a name"),
				"properties":     object{c("pattern's key"): []any{c("pattern's value")}},
				"propertyMin":    object{c("pattern's lower key"): c("pattern's lower bound")},
				"propertyMax":    object{c("pattern's upper key"): c("pattern's upper bound")},
				"propertyPrefix": object{c("pattern's prefix key"): c("pattern's prefix")},
			},
			to: object{"properties": object{c("pattern's other key"): c("pattern's only value")}},
		},
		"edges":  []any{object{"from": from, "to": to, "relationTypes": []any{c("pattern's relation")}}},
		"return": []any{from},
	}, http.StatusOK)
}

// patternBodies returns patterns that name nodes of the first tenant, by id and name.
func (w *tenants) patternBodies() []object {
	bodies := []object{
		{"nodes": object{"a": object{"name": w.canaryPrefix}}},
		{"nodes": object{"a": object{"name": w.values["name"]}}, "return": []any{"a"}},
		{"nodes": object{"a": object{}, "b": object{}}, "edges": []any{object{"from": "a", "to": "b", "maxLength": 3}}},
	}
	for _, id := range w.firstTenantIDs() {
		bodies = append(bodies, object{
			"nodes": object{"a": object{"nodeIds": []any{id}}, "b": object{}},
			"edges": []any{object{"from": "a", "to": "b", "direction": "both", "maxLength": 2}},
		})
	}
	return bodies
}
