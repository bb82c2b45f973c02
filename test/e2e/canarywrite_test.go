package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// object is a JSON object.
type object = map[string]any

// write writes as the first tenant, with canaries in the headers, and records the ids in the response.
func (w *tenants) write(op, path, kind, body string, header map[string]string, status int) json.RawMessage {
	w.t.Helper()
	return w.writeAs(w.firstKey, op, path, kind, body, header, status)
}

// writeAs is write with another key.
func (w *tenants) writeAs(
	as createdKey, op, path, kind, body string, header map[string]string, status int,
) json.RawMessage {
	w.t.Helper()
	all := map[string]string{
		"User-Agent": w.canary(op + ": User-Agent"), "X-Request-Id": w.canary(op + ": X-Request-Id"),
		"Referer": "http://x/" + w.canary(op+": Referer"),
	}
	maps.Copy(all, header)
	answer := w.send(as.Key, w.firstKey.workspace, call{op: op, path: path, contentType: kind, body: body, header: all})
	require.Equal(w.t, status, answer.status, "%s %s\n%s\n%s", op, path, body, answer.body)
	w.recordIDs(op, answer.text())
	if media := w.operation(op).RequestBody; media != nil {
		w.written[op+" "+kind], w.written[op+" */*"] = true, true
	}
	var envelope struct{ Data json.RawMessage }
	if answer.body != "" {
		require.NoError(w.t, json.Unmarshal([]byte(answer.body), &envelope))
	}
	return envelope.Data
}

// writeJSON is write of a JSON body. It records which fields of the schema contain canaries.
func (w *tenants) writeJSON(op, path string, body object, status int) json.RawMessage {
	w.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(w.t, err)
	var read any
	require.NoError(w.t, json.Unmarshal(text, &read))
	w.recordWritten(op, "", w.bodyOf(op), read)
	header := map[string]string{}
	if slices.ContainsFunc(w.operation(op).Parameters, func(p *openapi3.ParameterRef) bool {
		return p.Value.Name == "Idempotency-Key"
	}) {
		header["Idempotency-Key"] = w.canary(op + ": Idempotency-Key")
		w.values["idempotency "+op] = header["Idempotency-Key"]
	}
	return w.write(op, path, asJSON, string(text), header, status)
}

func (w *tenants) operation(op string) *openapi3.Operation {
	w.t.Helper()
	method, path, _ := strings.Cut(op, " ")
	item := w.doc.Paths.Value(path)
	require.NotNil(w.t, item, op)
	require.NotNil(w.t, item.GetOperation(method), op)
	return item.GetOperation(method)
}

// bodyOf returns the schema of an operation's JSON body, or nil if it has none.
func (w *tenants) bodyOf(op string) *openapi3.Schema {
	body := w.operation(op).RequestBody
	if body == nil || body.Value.Content[asJSON] == nil {
		return nil
	}
	return body.Value.Content[asJSON].Schema.Value
}

// textFields returns the paths of the fields of a schema that accept text of a client.
func textFields(at string, s *openapi3.Schema) (places []string) {
	for _, alternatives := range []openapi3.SchemaRefs{s.AnyOf, s.OneOf, s.AllOf} {
		for _, one := range alternatives {
			places = append(places, textFields(at, one.Value)...)
		}
	}
	for name, property := range s.Properties {
		places = append(places, textFields(at+"."+name, property.Value)...)
	}
	switch {
	case s.Items != nil:
		places = append(places, textFields(at+"[]", s.Items.Value)...)
	case s.AdditionalProperties.Schema != nil:
		places = append(places, at+".(key)")
		places = append(places, textFields(at+".*", s.AdditionalProperties.Schema.Value)...)
	case s.AdditionalProperties.Has != nil && *s.AdditionalProperties.Has:
		places = append(places, at+".(key)", at+".*")
	case s.Type.Is("string") && len(s.Enum) == 0 && s.Format != "date-time":
		places = append(places, at)
	}
	return places
}

// recordWritten records which text fields of a schema a value sets.
func (w *tenants) recordWritten(op, at string, s *openapi3.Schema, value any) {
	for _, alternatives := range []openapi3.SchemaRefs{s.AnyOf, s.OneOf, s.AllOf} {
		for _, one := range alternatives {
			w.recordWritten(op, at, one.Value, value)
		}
	}
	record := func(where, text string) {
		if strings.Contains(text, w.canaryPrefix) || w.ids[text] != "" {
			w.written[op+" "+where] = true
		}
	}
	switch v := value.(type) {
	case string:
		record(at, v)
	case []any:
		for _, item := range v {
			if s.Items != nil {
				w.recordWritten(op, at+"[]", s.Items.Value, item)
			}
		}
	case map[string]any:
		for name, member := range v {
			switch {
			case s.Properties[name] != nil:
				w.recordWritten(op, at+"."+name, s.Properties[name].Value, member)
			case s.AdditionalProperties.Schema != nil:
				record(at+".(key)", name)
				w.recordWritten(op, at+".*", s.AdditionalProperties.Schema.Value, member)
			case s.AdditionalProperties.Has != nil && *s.AdditionalProperties.Has:
				record(at+".(key)", name)
				record(at+".*", fmt.Sprint(member))
			}
		}
	}
}

// requireAllWritten requires that the first tenant wrote a canary into every text field of the
// specification, with every content type.
func (w *tenants) requireAllWritten() {
	w.t.Helper()
	for path, item := range w.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.RequestBody == nil {
				continue
			}
			op := method + " " + path
			schema := w.bodyOf(op)
			if schema != nil && len(textFields("", schema)) == 0 && len(operation.RequestBody.Value.Content) == 1 {
				continue // its body is an empty object
			}
			for kind := range operation.RequestBody.Value.Content {
				require.True(w.t, w.written[op+" "+kind], "%s: no canary was written as %s", op, kind)
			}
			if schema == nil {
				continue
			}
			for _, place := range textFields("", schema) {
				if strings.HasSuffix(place, ".request.(key)") {
					continue // the names of the members of a saved request are those of a route
				}
				require.True(w.t, w.written[op+" "+place], "%s: no canary was written into %s", op, place)
			}
		}
	}
}

// id returns a member of an answer's data, such as "node.id".
func (w *tenants) id(data json.RawMessage, member string) string {
	w.t.Helper()
	var found map[string]any
	require.NoError(w.t, json.Unmarshal(data, &found))
	for name := range strings.SplitSeq(member, ".") {
		if inner, ok := found[name].(map[string]any); ok {
			found = inner
			continue
		}
		text, ok := found[name].(string)
		require.True(w.t, ok, "%s of %s", member, data)
		return text
	}
	w.t.Fatalf("no %s in %s", member, data)
	return ""
}
