package tenant

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

// page is a page of a list in an answer.
type page[T any] struct {
	Data []T
	Meta struct {
		Total      int64
		NextCursor string
		Degraded   []string
		Truncated  bool
		Facets     map[string]facet
	}
}

// paged are the flags of lists.
type paged struct {
	Limit  int    `help:"Maximum number of items, 1 to 100." default:"50"`
	Cursor string `help:"Continue where the previous page ended." placeholder:"CURSOR"`
}

func (p *paged) query() url.Values {
	query := url.Values{"limit": {strconv.Itoa(p.Limit)}}
	setParameter(query, "cursor", p.Cursor)
	return query
}

// setParameter sets a parameter if its value is not empty.
func setParameter(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// listing prints a list of a route as a table.
type listing[T any] struct {
	path  string
	query url.Values
	noun  string   // singular name of an item, such as node
	nouns string   // plural name; empty: noun with an s
	head  []string // the column names
	row   func(*T) []string
	// truncated is what is printed for a list that is not complete.
	truncated string
}

// print prints the page that the route returns, the total, and how to read the next page.
func (l *listing[T]) print(ctx context.Context, out *output.Writer, c *tenant) error {
	return c.withReadRoutes(ctx, func(v *session) error { return l.printWith(ctx, out, c, v) })
}

// printWith is print with a session that has the route.
func (l *listing[T]) printWith(ctx context.Context, out *output.Writer, c *tenant, v *session) error {
	got, err := v.get(ctx, l.path, l.query)
	if err != nil || c.JSON {
		return printAnswer(out, got, err)
	}
	list, err := decode[page[T]](got)
	if err != nil {
		return err
	}
	return l.show(out, &list)
}

// show prints a page.
func (l *listing[T]) show(out *output.Writer, list *page[T]) error {
	rows := [][]string{l.head}
	for i := range list.Data {
		rows = append(rows, l.row(&list.Data[i]))
	}
	if err := output.Table(out, rows); err != nil {
		return err
	}
	text := plural.CountOf(list.Meta.Total, l.noun, cmp.Or(l.nouns, l.noun+"s"))
	if shown := len(list.Data); int64(shown) < list.Meta.Total {
		text = fmt.Sprintf("%d of %s", shown, text)
	}
	if list.Meta.NextCursor != "" {
		text += "; next page: --cursor " + list.Meta.NextCursor
	}
	if list.Meta.Truncated {
		const noNodes = "the traversal reached its limit of edges: some nodes behind them are missing"
		text = cmp.Or(l.truncated, noNodes) + "\n" + text
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
