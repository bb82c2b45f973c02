package documents

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/storage/postgres/documentfilter"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

// item is the JSON form of a document.
type item struct {
	ID           uuid.UUID  `json:"id"` // of its node
	ExternalID   string     `json:"externalId"`
	Title        string     `json:"title"`
	ContentType  string     `json:"contentType"`
	SourceURL    *string    `json:"sourceUrl"`
	Tags         []string   `json:"tags"`
	Timestamp    *time.Time `json:"timestamp"`
	Hash         string     `json:"hash"`
	Revision     int64      `json:"revision"`
	PassageCount int        `json:"passageCount"` // 0: the text is the description of the node
	CreatedAt    time.Time  `json:"createdAt"`
	UpdatedAt    time.Time  `json:"updatedAt"`
	Version      int64      `json:"version"` // of the node
	// Passages are only in the response to a request for one document.
	Passages *[]passage `json:"passages,omitzero"`
}

// passage is the JSON form of a part of a document.
type passage struct {
	ID      uuid.UUID `json:"id"` // of its node
	Index   int       `json:"index"`
	From    int       `json:"from"`
	To      int       `json:"to"`
	Heading *string   `json:"heading"`
	Page    *int      `json:"page"`
	Text    string    `json:"text"`
}

func itemOf(n *graph.Node, m *document.Mark) item {
	i := item{
		ID: n.ID, ExternalID: m.ExternalID, Title: m.Title, ContentType: m.ContentType, Tags: append([]string{}, m.Tags...),
		Timestamp: m.Timestamp, Hash: m.Hash, Revision: m.Revision, PassageCount: m.Passages,
		CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt, Version: n.Version,
	}
	if m.SourceURL != "" {
		i.SourceURL = &m.SourceURL
	}
	return i
}

func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	p := request.Query(r)
	selected := graphread.DocumentList{Order: readOrder(p), Filter: readFilter(p)}
	selected.Limit, selected.Offset = p.Page()
	externalID, given := p.String("externalId")
	if given && !selected.Filter.IsEmpty() {
		p.Fail("externalId", "must not be combined with other conditions")
	}
	if err := p.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	workspace := request.PrincipalOf(ctx).Workspace
	var nodes []graph.Node
	var total int64
	var err error
	if given {
		if nodes, err = a.Graph.DocumentNodes(ctx, workspace, []string{externalID}); err == nil {
			isNone := func(n graph.Node) bool { return document.OwnMark(&n) == nil }
			nodes = slices.DeleteFunc(nodes, isNone)
			nodes = nodes[:min(len(nodes), 1)] // the others cannot be reached by the external id either
			total = int64(len(nodes))
			nodes = nodes[min(selected.Offset, len(nodes)):]
		}
	} else {
		nodes, total, err = a.Graph.Documents(ctx, workspace, selected)
	}
	if err != nil {
		return err
	}
	items := make([]item, 0, len(nodes))
	for i := range nodes {
		if m := document.OwnMark(&nodes[i]); m != nil {
			items = append(items, itemOf(&nodes[i], m))
		}
	}
	reply.List(w, r, items, reply.PageMeta(total, selected.Limit, selected.Offset, len(nodes)))
	return nil
}

// readOrder returns the order of a list.
func readOrder(p *request.Params) documentfilter.Order {
	return documentfilter.Order(p.OneOf("sort", string(documentfilter.ByCreation), string(documentfilter.ByCreation),
		string(documentfilter.ByChange), string(documentfilter.ByTimestamp)))
}

// readFilter returns the conditions of a list.
func readFilter(p *request.Params) retrieval.DocumentFilter {
	f := retrieval.DocumentFilter{
		AnyTags: tagsOf(p, "tag"), AllTags: tagsOf(p, "allTag"), From: p.Time("timestampFrom"), To: p.Time("timestampTo"),
	}
	if f.From != nil && f.To != nil && !f.From.Before(*f.To) {
		p.Fail("timestampTo", "must be after timestampFrom")
	}
	return f
}

// tagsOf returns the values of a parameter.
func tagsOf(p *request.Params, name string) []string {
	tags := p.Strings(name)
	if len(tags) > document.MaxTags {
		p.Fail(name, fmt.Sprintf("must have at most %d values", document.MaxTags))
	}
	for _, tag := range tags {
		if n := utf8.RuneCountInString(tag); n == 0 || n > document.MaxTag {
			p.Fail(name, fmt.Sprintf("must have 1 to %d characters", document.MaxTag))
		}
	}
	return tags
}

func (a *api) get(w http.ResponseWriter, r *http.Request) error {
	if err := request.Query(r).Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	name, err := nameOf(r)
	if err != nil {
		return err
	}
	state, err := a.find(ctx, name)
	if err != nil {
		return err
	}
	answer := itemOf(state.Document, document.MarkOf(state.Document))
	list := make([]passage, 0, len(state.Passages))
	for i := range state.Passages {
		n := &state.Passages[i]
		position := document.MarkOf(n).Passage
		part := passage{ID: n.ID, Index: position.Index, From: position.From, To: position.To}
		if position.Heading != "" {
			part.Heading = &position.Heading
		}
		if position.Page > 0 {
			part.Page = &position.Page
		}
		if n.Description != nil {
			part.Text = *n.Description
		}
		list = append(list, part)
	}
	answer.Passages = &list
	reply.Resource(w, r, answer)
	return nil
}

// nameOf returns the id or the external id in the path.
func nameOf(r *http.Request) (string, error) {
	name := chi.URLParam(r, "id")
	if r.URL.RawPath == "" {
		return name, nil
	}
	name, err := url.PathUnescape(name) // the parameter is a part of the raw path
	if err != nil {
		return "", errNotFound()
	}
	return name, nil
}

// find reads a document by its id or its external id.
func (a *api) find(ctx context.Context, name string) (state document.State, err error) {
	workspace := request.PrincipalOf(ctx).Workspace
	if id, ok := request.ParseUUID(name); ok {
		n, err := a.Graph.Node(ctx, workspace, id)
		switch {
		case err == nil && document.OwnMark(&n) != nil:
			state.Document = &n
		case err != nil && !fault.Is(err, fault.NotFound):
			return state, err
		}
	}
	if state.Document == nil && isExternalID(name) {
		nodes, err := a.Graph.DocumentNodes(ctx, workspace, []string{name})
		if err != nil {
			return state, err
		}
		isOwn := func(n graph.Node) bool { return document.OwnMark(&n) != nil }
		if i := slices.IndexFunc(nodes, isOwn); i >= 0 {
			state.Document = &nodes[i]
		}
	}
	if state.Document == nil {
		return state, errNotFound()
	}
	state.Passages, err = a.passages(ctx, workspace, state.Document)
	return state, err
}

// isExternalID reports whether a document can have the external id.
func isExternalID(text string) bool {
	var c request.Check
	c.Text("id", text, 1, document.MaxExternalID)
	return c.Err() == nil && utf8.ValidString(text)
}
