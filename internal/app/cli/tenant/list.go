package tenant

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/platform/plural"
)

// page is a list in an answer.
type page[T any] struct {
	Data []T
	Meta struct {
		Total      int64
		NextCursor string
		Degraded   []string
		Truncated  bool
	}
}

// paged are the flags of lists.
type paged struct {
	Limit  int    `help:"How many at most, 1 to 100." default:"50"`
	Cursor string `help:"Go on where the list before ended." placeholder:"CURSOR"`
}

func (p *paged) query() url.Values {
	query := url.Values{"limit": {strconv.Itoa(p.Limit)}}
	setText(query, "cursor", p.Cursor)
	return query
}

// setText sets a parameter that is not empty.
func setText(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// listing is a list of a route as a table.
type listing[T any] struct {
	path  string
	query url.Values
	one   string   // what there is one of: node
	head  []string // of the columns
	row   func(*T) []string
}

// print prints the page that the route gives, how much there is, and how to see the rest.
func (l *listing[T]) print(ctx context.Context, out *output.Writer, c *tenant) error {
	return c.reads(ctx, func(v *visit) error {
		got, err := v.get(ctx, l.path, l.query)
		if err != nil || c.JSON {
			return printed(out, got, err)
		}
		list, err := read[page[T]](got)
		if err != nil {
			return err
		}
		return l.show(out, &list)
	})
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
	text := plural.Count(list.Meta.Total, l.one)
	if shown := len(list.Data); int64(shown) < list.Meta.Total {
		text = fmt.Sprintf("%d of %s", shown, text)
	}
	if list.Meta.NextCursor != "" {
		text += "; the next: --cursor " + list.Meta.NextCursor
	}
	if list.Meta.Truncated {
		text = "there are more edges than a walk follows: some of what is behind them is missing\n" + text
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
