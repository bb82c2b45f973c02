package tenant

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

// SearchCmd searches nodes.
type SearchCmd struct {
	tenant
	Query      string   `arg:"" help:"The text to search for."`
	Hybrid     bool     `help:"Search by words, meaning and the graph: also follow edges."`
	EntityType []string `help:"Only nodes of these types: ${entityTypes}." placeholder:"TYPE"`
	Limit      int      `help:"Maximum number of nodes, 1 to 100." default:"10"`
	Rerank     bool     `help:"Order the best results again by the configured reranking model."`
	MinScore   *float64 `help:"Minimum score, 0 to 1." placeholder:"SCORE"`
	propertyFilter
	searchedDocuments
	Facet   []string    `help:"Count the results by entityType, tags or timestamp; repeat it for several." placeholder:"NAME"`
	Hops    *int        `help:"With --hybrid: maximum distance in edges, 0 to 3." placeholder:"EDGES"`
	Node    []uuid.UUID `help:"With --hybrid: also start from this node; repeat it for several." placeholder:"ID"`
	Explain bool        `help:"With --hybrid: show the parts of each score."`
}

// Validate checks which flags go together.
func (c *SearchCmd) Validate() error {
	for flag, given := range map[string]bool{"--hops": c.Hops != nil, "--node": len(c.Node) > 0, "--explain": c.Explain} {
		if given && !c.Hybrid {
			return fmt.Errorf("%s: needs --hybrid", flag)
		}
	}
	return nil
}

// searchHit is a hit of a search or a hybrid search.
type searchHit struct {
	Node        graphjson.Node
	Score       float64
	RerankScore *float64
	Snippet     string
	Scores      struct{ Text, Vector, Graph *float64 }
	Path        []graphjson.Edge
	Explanation []struct {
		Kind, Detail string
		Share        float64
	}
}

// Run prints the hits, best first.
func (c *SearchCmd) Run(ctx context.Context, out *output.Writer) error {
	path, body := "/api/rag/search", searchBody(c.Query, c.Limit, c.MinScore, c.EntityType)
	c.addProperties(body)
	c.addTo(body)
	if len(c.Facet) > 0 {
		body["facets"] = c.Facet
	}
	addRerank(body, c.Rerank)
	if c.Hybrid {
		path = "/api/rag/hybrid-search"
		addSeeds(body, c.Hops, c.Node)
		if c.Explain {
			body["explain"] = true
		}
	}
	return c.withReadRoutes(ctx, func(v *session) error {
		got, err := v.post(ctx, path, body)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		list, err := decode[page[searchHit]](got)
		if err != nil {
			return err
		}
		return printFound(out, &list)
	})
}

// searchBody returns the fields of a body that all searches have.
func searchBody(query string, limit int, minScore *float64, entityTypes []string) map[string]any {
	body := map[string]any{"query": query, "limit": limit}
	if minScore != nil {
		body["minScore"] = *minScore
	}
	if len(entityTypes) > 0 {
		body["entityTypes"] = entityTypes
	}
	return body
}

// documentFilter has the flags that select documents.
type documentFilter struct {
	Tag    []string `help:"Only documents with one of these tags; repeat it for several." placeholder:"TAG" sep:"none"`
	AllTag []string `help:"Only documents with each of these tags; repeat it for several." placeholder:"TAG" sep:"none"`
	From   *string  `help:"Only documents whose timestamp is this time or later: RFC 3339, such as 2026-11-21T07:40:08Z." placeholder:"TIME"`
	To     *string  `help:"Only documents whose timestamp is before this time." placeholder:"TIME"`
}

// searchedDocuments has the flags that select documents in a search.
type searchedDocuments struct {
	Document []uuid.UUID `help:"Only this document, by its id; repeat it for several, up to 100." placeholder:"ID"`
	documentFilter
}

// addTo adds the fields of a body that select documents.
func (f *searchedDocuments) addTo(body map[string]any) {
	if len(f.Document) > 0 {
		body["documents"] = f.Document
	}
	if len(f.Tag) > 0 {
		body["tags"] = f.Tag
	}
	if len(f.AllTag) > 0 {
		body["allTags"] = f.AllTag
	}
	if f.From == nil && f.To == nil {
		return
	}
	timestamp := map[string]any{}
	if f.From != nil {
		timestamp["from"] = *f.From
	}
	if f.To != nil {
		timestamp["to"] = *f.To
	}
	body["timestamp"] = timestamp
}

// addParameters adds the parameters of a list that select documents.
func (f *documentFilter) addParameters(query url.Values) {
	query["tag"], query["allTag"] = f.Tag, f.AllTag
	if f.From != nil {
		query.Set("timestampFrom", *f.From)
	}
	if f.To != nil {
		query.Set("timestampTo", *f.To)
	}
}

// addRerank adds the field that enables reranking.
func addRerank(body map[string]any, rerank bool) {
	if rerank {
		body["rerank"] = map[string]any{}
	}
}

// addSeeds adds the fields of a body of a search that uses the graph.
func addSeeds(body map[string]any, hops *int, nodes []uuid.UUID) {
	if hops != nil {
		body["hops"] = *hops
	}
	if len(nodes) > 0 {
		body["nodeIds"] = nodes
	}
}

// printFound prints hits, each as a paragraph.
func printFound(out *output.Writer, list *page[searchHit]) error {
	var text strings.Builder
	for _, hit := range list.Data {
		fmt.Fprintf(
			&text, "%.3f  %s  (%s %s)\n", hit.Score, output.Printable(hit.Node.Name), hit.Node.EntityType, hit.Node.ID,
		)
		if hit.Snippet != "" {
			fmt.Fprintf(&text, "       %s\n", output.Printable(hit.Snippet))
		}
		var scores []string
		for _, part := range []struct {
			name  string
			score *float64
		}{
			{"words", hit.Scores.Text}, {"meaning", hit.Scores.Vector}, {"graph", hit.Scores.Graph},
			{"reranked", hit.RerankScore},
		} {
			if part.score != nil {
				scores = append(scores, fmt.Sprintf("%s %.3f", part.name, *part.score))
			}
		}
		if len(hit.Path) > 0 {
			scores = append(scores, plural.Count(len(hit.Path), "edge")+" away")
		}
		fmt.Fprintf(&text, "       %s\n", strings.Join(scores, ", "))
		for _, reason := range hit.Explanation {
			fmt.Fprintf(&text, "       %5.1f %%  %s: %s\n", 100*reason.Share, reason.Kind, output.Printable(reason.Detail))
		}
	}
	writeFacets(&text, list.Meta.Facets)
	writeDegraded(&text, list.Meta.Degraded)
	fmt.Fprintln(&text, plural.Count(list.Meta.Total, "candidate"))
	_, err := fmt.Fprint(out, text.String())
	return err
}

// facet has the counted values of a field.
type facet struct {
	Values []struct {
		Value string
		Count int64
	}
	Other, Missing int64
}

// writeFacets writes facets, each in a line.
func writeFacets(text *strings.Builder, facets map[string]facet) {
	for _, name := range slices.Sorted(maps.Keys(facets)) {
		f := facets[name]
		var counts []string
		for _, v := range f.Values {
			counts = append(counts, fmt.Sprintf("%s %d", output.Printable(v.Value), v.Count))
		}
		if f.Other > 0 {
			counts = append(counts, fmt.Sprintf("(other values) %d", f.Other))
		}
		if f.Missing > 0 {
			counts = append(counts, fmt.Sprintf("(no value) %d", f.Missing))
		}
		fmt.Fprintf(text, "%s: %s\n", name, strings.Join(counts, ", "))
	}
}

// writeDegraded writes what is missing in the answer of a search.
func writeDegraded(text *strings.Builder, degraded []string) {
	if len(degraded) > 0 {
		fmt.Fprintf(text, "incomplete: %s unavailable or partial\n", strings.Join(degraded, " and "))
	}
}

// IndexCmd groups the commands on the search index.
type IndexCmd struct {
	Status IndexStatusCmd `cmd:"" help:"Show the status of a workspace's search index."`
}

// IndexStatusCmd shows the status of the index.
type IndexStatusCmd struct{ tenant }

// Run prints the status.
func (c *IndexStatusCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withReadRoutes(ctx, func(v *session) error {
		got, err := v.get(ctx, "/api/rag/index/status", nil)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		status, err := decode[struct {
			Data struct {
				Status string
				Model  *struct {
					Name       string
					Dimensions int
				}
				Nodes struct{ Total, Indexed, Pending int64 }
				Lag   struct {
					Events  int64
					Seconds float64
				}
			}
		}](got)
		if err != nil {
			return err
		}
		s := status.Data
		model := "no model yet"
		if s.Model != nil {
			model = fmt.Sprintf("%s, %d dimensions", s.Model.Name, s.Model.Dimensions)
		}
		_, err = fmt.Fprintf(out, "%s: %d of %s indexed, %d pending, %s behind (%.1f s); %s\n", s.Status, s.Nodes.Indexed,
			plural.Count(s.Nodes.Total, "node"), s.Nodes.Pending, plural.Count(s.Lag.Events, "event"), s.Lag.Seconds, model)
		return err
	})
}
