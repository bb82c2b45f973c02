package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/output"
)

const (
	savedQueriesPath = "/api/rag/queries"
	// maxSavedRequest bounds what is read of a file, which the route limits further.
	maxSavedRequest = 1 << 20
)

// SavedQueriesCmd groups the commands on saved queries.
type SavedQueriesCmd struct {
	List   SavedQueriesListCmd   `cmd:"" help:"List the saved queries."`
	Get    SavedQueriesGetCmd    `cmd:"" help:"Print the request of a saved query."`
	Put    SavedQueriesPutCmd    `cmd:"" help:"Create or replace a saved query."`
	Delete SavedQueriesDeleteCmd `cmd:"" help:"Delete a saved query."`
	Run    SavedQueriesRunCmd    `cmd:"" help:"Run a saved query."`
}

// savedQuery is a saved query in an answer.
type savedQuery struct {
	ID                      uuid.UUID
	Name, Description, Kind string
	Request                 json.RawMessage
	Version                 int64
	UpdatedAt               time.Time
}

// SavedQueriesListCmd lists saved queries.
type SavedQueriesListCmd struct {
	tenant
	Name   string `help:"Only those whose name contains this text." placeholder:"TEXT"`
	Kind   string `help:"Only those of this kind: search, hybrid-search or answer." placeholder:"KIND"`
	Limit  int    `help:"Maximum number of saved queries, 1 to 100." default:"50"`
	Offset int    `help:"Number of saved queries to skip." default:"0"`
}

// Run prints the saved queries by name.
func (c *SavedQueriesListCmd) Run(ctx context.Context, out *output.Writer) error {
	list := savedQueryListing()
	list.query = url.Values{"limit": {strconv.Itoa(c.Limit)}, "offset": {strconv.Itoa(c.Offset)}, "sort": {"name"}}
	setParameter(list.query, "name", c.Name)
	setParameter(list.query, "kind", c.Kind)
	return list.print(ctx, out, &c.tenant)
}

func savedQueryListing() listing[savedQuery] {
	return listing[savedQuery]{
		path: savedQueriesPath, noun: "saved query", nouns: "saved queries",
		head: []string{"NAME", "KIND", "VERSION", "UPDATED", "DESCRIPTION", "ID"},
		row: func(q *savedQuery) []string {
			return []string{
				q.Name, q.Kind, strconv.FormatInt(q.Version, 10), timeText(&q.UpdatedAt), output.TextOr(&q.Description, "-"),
				q.ID.String(),
			}
		},
	}
}

// savedName is the argument that names a saved query.
type savedName struct {
	Name string `arg:"" help:"The name or the id of the saved query."`
}

// read returns the saved query. found is false if no query has the name.
func (n *savedName) read(ctx context.Context, v *session) (q savedQuery, found bool, err error) {
	if id, err := uuid.Parse(n.Name); err == nil {
		got, err := v.get(ctx, savedQueriesPath+"/"+id.String(), nil)
		if err != nil {
			return q, false, err
		}
		one, err := decode[struct{ Data savedQuery }](got)
		return one.Data, err == nil, err
	}
	query := url.Values{"limit": {"100"}, "sort": {"name"}, "name": {n.Name}}
	for offset := 0; ; offset += 100 { // the route finds parts of names
		query.Set("offset", strconv.Itoa(offset))
		got, err := v.get(ctx, savedQueriesPath, query)
		if err != nil {
			return q, false, err
		}
		list, err := decode[page[savedQuery]](got)
		if err != nil {
			return q, false, err
		}
		for i := range list.Data {
			if list.Data[i].Name == n.Name {
				return list.Data[i], true, nil
			}
		}
		if len(list.Data) < 100 {
			return q, false, nil
		}
	}
}

// require is read for a saved query that must exist.
func (n *savedName) require(ctx context.Context, v *session) (savedQuery, error) {
	q, found, err := n.read(ctx, v)
	if err == nil && !found {
		err = fmt.Errorf("there is no saved query %q; `livegraph saved-queries list` shows them", n.Name)
	}
	return q, err
}

// SavedQueriesGetCmd prints the request of a saved query.
type SavedQueriesGetCmd struct {
	tenant
	savedName
}

// Run prints the request, as `saved-queries put` reads it.
func (c *SavedQueriesGetCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withReadRoutes(ctx, func(v *session) error {
		q, err := c.require(ctx, v)
		if err != nil {
			return err
		}
		if c.JSON {
			got, err := v.get(ctx, savedQueriesPath+"/"+q.ID.String(), nil)
			return printAnswer(out, got, err)
		}
		return output.JSON(out, q.Request)
	})
}

// SavedQueriesDeleteCmd deletes a saved query.
type SavedQueriesDeleteCmd struct {
	tenant
	savedName
}

// Run deletes the saved query.
func (c *SavedQueriesDeleteCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withReadRoutes(ctx, func(v *session) error {
		q, err := c.require(ctx, v)
		if err != nil {
			return err
		}
		if _, err = v.do(ctx, http.MethodDelete, savedQueriesPath+"/"+q.ID.String(), nil, nil); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s is deleted\n", output.Printable(q.Name))
		return err
	})
}

// SavedQueriesRunCmd runs a saved query.
type SavedQueriesRunCmd struct {
	tenant
	savedName
	Query  *string `help:"The text to search for, instead of the saved one." placeholder:"TEXT"`
	Limit  *int    `help:"Maximum number of results, 1 to 100, instead of the saved one." placeholder:"N"`
	Offset *int    `help:"Number of results to skip; not for answers." placeholder:"N"`
	searchedDocuments
}

// Run prints what the route of the saved query's kind returns.
func (c *SavedQueriesRunCmd) Run(ctx context.Context, out *output.Writer) error {
	body := map[string]any{}
	c.addTo(body)
	if c.Query != nil {
		body["query"] = *c.Query
	}
	if c.Limit != nil {
		body["limit"] = *c.Limit
	}
	if c.Offset != nil {
		body["offset"] = *c.Offset
	}
	return c.withReadRoutes(ctx, func(v *session) error {
		q, err := c.require(ctx, v)
		if err != nil {
			return err
		}
		got, err := v.post(ctx, savedQueriesPath+"/"+q.ID.String()+"/run", body)
		if err != nil || c.JSON {
			return printAnswer(out, got, err)
		}
		if q.Kind == "answer" {
			found, err := decode[questionAnswer](got)
			if err != nil {
				return err
			}
			return printQuoted(out, &found)
		}
		list, err := decode[page[searchHit]](got)
		if err != nil {
			return err
		}
		return printFound(out, &list)
	})
}
