package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/cli/trail"
	"github.com/livegraph/livegraph/internal/app/output"
)

// SavedQueriesPutCmd creates or replaces a saved query.
type SavedQueriesPutCmd struct {
	tenant
	savedName
	File        string  `arg:"" help:"The request as JSON: the body of the route of the kind. -: standard input."`
	Kind        *string `help:"The route that answers it: search, hybrid-search or answer. Default: search, or that of the query that is replaced." placeholder:"KIND"`
	Description *string `help:"What the query is for. Default: none, or that of the query that is replaced." placeholder:"TEXT"`
}

// Run stores the saved query. One that exists keeps its id.
func (c *SavedQueriesPutCmd) Run(ctx context.Context, out *output.Writer) error {
	content, err := readInput(c.File, maxSavedRequest)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(content, &members); err != nil || members == nil {
		return fmt.Errorf("%s: must be a JSON object such as {\"query\": \"pump\"}", c.File)
	}
	return c.withReadRoutes(ctx, func(v *session) error {
		q, found, err := c.read(ctx, v)
		if err != nil {
			return err
		}
		body := map[string]any{}
		if c.Kind != nil {
			body["kind"] = *c.Kind
		}
		if c.Description != nil {
			body["description"] = *c.Description
		}
		got, err := c.store(ctx, v, &q, found, body, content)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		stored, err := decode[struct{ Data savedQuery }](got)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(
			out, "%s: %s, version %d\n", output.Printable(stored.Data.Name), stored.Data.Kind, stored.Data.Version,
		)
		return err
	})
}

// store creates the saved query, or replaces q unless it was changed meanwhile.
func (c *SavedQueriesPutCmd) store(
	ctx context.Context, v *session, q *savedQuery, found bool, body map[string]any, request json.RawMessage,
) (answer, error) {
	if !found {
		id, err := uuid.NewV7()
		if err != nil {
			return answer{}, fmt.Errorf("creating an id: %w", err)
		}
		trail.AddResult(ctx, id)
		body["id"], body["name"], body["request"] = id, c.Name, request
		if c.Kind == nil {
			body["kind"] = "search"
		}
		return v.post(ctx, savedQueriesPath, body)
	}
	body["request"], body["expectedVersion"] = replacement(q.Request, request), q.Version
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	return v.do(ctx, http.MethodPatch, savedQueriesPath+"/"+q.ID.String(), raw, nil)
}

// replacement returns the merge patch (RFC 7396) that turns the first object into the second.
func replacement(current, desired json.RawMessage) any {
	var before, after map[string]json.RawMessage
	if json.Unmarshal(current, &before) != nil || json.Unmarshal(desired, &after) != nil || before == nil || after == nil {
		return desired
	}
	patch := map[string]any{}
	for name := range before {
		patch[name] = nil
	}
	for name, value := range after {
		patch[name] = replacement(before[name], value)
	}
	return patch
}
