package rag

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/savedqueries"
)

// Limits of a saved query.
const (
	maxQueryName        = 256 // characters
	maxQueryDescription = 4096
	maxRequest          = 64 << 10 // bytes of JSON
)

// Kinds of saved queries, as the last part of the route that answers them.
const (
	savedSearch = "search"
	savedHybrid = "hybrid-search"
	savedAnswer = "answer"
)

func queryKinds() []string { return []string{savedSearch, savedHybrid, savedAnswer} }

const requestField = "request"

// requestBody is the body of a route that answers a kind of queries.
type requestBody interface {
	// check validates the fields as the route does.
	check(a *api) error
	// override replaces what is set.
	override(o *overrides) error
}

// bodyOf returns an empty body of a kind of queries.
func bodyOf(kind string) requestBody {
	switch kind {
	case savedHybrid:
		return &hybridBody{}
	case savedAnswer:
		return &answerBody{}
	}
	return &searchBody{}
}

func (b *searchBody) check(a *api) error {
	var c request.Check
	b.read(&c, uuid.Nil, a.models())
	return c.Err()
}

func (b *hybridBody) check(a *api) error {
	var c request.Check
	b.read(&c, uuid.Nil, a.models())
	return c.Err()
}

func (b *answerBody) check(a *api) error {
	var c request.Check
	b.read(&c, uuid.Nil, a.models())
	return c.Err()
}

// checkRequest validates a request as the route of its kind does. Names of fields in errors begin with "request.".
func (a *api) checkRequest(kind string, raw jsontext.Value) error {
	body := bodyOf(kind)
	if err := request.DecodePart(raw, requestField, body); err != nil {
		return err
	}
	return request.PrefixField(requestField, body.check(a))
}

// newQuery is the body of POST queries.
type newQuery struct {
	ID          *string        `json:"id"`
	Name        *string        `json:"name"`
	Description *string        `json:"description"`
	Kind        *string        `json:"kind"`
	Request     jsontext.Value `json:"request"`
}

// read validates the body and returns the query that it describes.
func (b *newQuery) read(a *api) (q savedqueries.SavedQuery, err error) {
	var c request.Check
	c.Required("name", b.Name != nil)
	c.Required("kind", b.Kind != nil)
	c.Required(requestField, b.Request != nil)
	if err := c.Err(); err != nil {
		return q, err
	}
	q.Name, q.Kind = *b.Name, *b.Kind
	if b.Description != nil {
		q.Description = *b.Description
	}
	if b.ID != nil {
		q.ID = c.UUID("id", *b.ID)
	} else if q.ID, err = uuid.NewV7(); err != nil {
		return q, fmt.Errorf("creating an id: %w", err)
	}
	return q, a.checkQuery(&c, &q, b.Request)
}

// queryPatch is the body of PATCH queries: a merge patch (RFC 7396).
type queryPatch struct {
	ExpectedVersion *int64                   `json:"expectedVersion"`
	Name            *string                  `json:"name"`
	Description     request.Nullable[string] `json:"description"`
	Kind            *string                  `json:"kind"`
	Request         jsontext.Value           `json:"request"`
}

// check validates what can be validated without the query.
func (p *queryPatch) check() error {
	var c request.Check
	if p.ExpectedVersion != nil && *p.ExpectedVersion < 1 {
		c.Fail("expectedVersion", "must be at least 1")
	}
	return c.Err()
}

// apply applies the patch to a query and validates the result.
func (p *queryPatch) apply(a *api, q *savedqueries.SavedQuery) error {
	if p.Name != nil {
		q.Name = *p.Name
	}
	if p.Description.Set {
		q.Description = p.Description.Value
	}
	if p.Kind != nil {
		q.Kind = *p.Kind
	}
	if p.Kind == nil && p.Request == nil {
		var c request.Check
		checkTexts(&c, q)
		return c.Err()
	}
	merged := jsontext.Value(q.Request)
	if p.Request != nil {
		var err error
		if merged, err = mergePatch(merged, p.Request); err != nil {
			return fmt.Errorf("merging the request of a saved query: %w", err)
		}
	}
	return a.checkQuery(&request.Check{}, q, merged)
}

func checkTexts(c *request.Check, q *savedqueries.SavedQuery) {
	c.Text("name", q.Name, 1, maxQueryName)
	c.Prose("description", q.Description, maxQueryDescription)
}

// checkQuery checks a query as it would be stored, and sets its request. A request that cannot be read is reported
// before values that break a rule.
func (a *api) checkQuery(c *request.Check, q *savedqueries.SavedQuery, raw jsontext.Value) error {
	checkTexts(c, q)
	if !slices.Contains(queryKinds(), q.Kind) {
		c.Fail("kind", "is not one of the allowed values", queryKinds()...)
		return c.Err()
	}
	compact := raw.Clone()
	if err := compact.Compact(); err != nil {
		return fmt.Errorf("compacting the request of a saved query: %w", err)
	}
	q.Request = string(compact)
	refused := a.checkRequest(q.Kind, compact)
	if fault.Is(refused, fault.Malformed) {
		return refused
	}
	if err := c.Err(); err != nil || refused != nil {
		return cmp.Or(err, refused)
	}
	if len(compact) > maxRequest {
		c.Fail(requestField, fmt.Sprintf("must have at most %d bytes", maxRequest))
	}
	return c.Err()
}
