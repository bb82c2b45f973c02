package graphread

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Nodes and edges are listed by any of their fields in any order with an exact
// total, a million nodes and five million edges in a workspace. Postgres' own
// choice of a plan rests on estimates, which are wrong just where it hurts: what a
// property holds, whether what a filter wants lies at the beginning of an order or
// at its end. So each list is made in steps that are bounded whatever the data is,
// and the first that succeeds is the answer:
//
//   - Without a filter the order's index has the page, and graph_totals the total.
//   - A filter that few rows pass is carried out whole: its index finds the rows,
//     which are counted and sorted. To find out that more than a few pass can take
//     as long as counting them, so where an estimate is far above that they are
//     counted at once; if it is wrong, only that count was for nothing.
//   - What many rows pass is met soon in the order of the list: some rows are looked
//     at in the order's index.
//   - What is not met there is sorted whole.
//
// An order that begins with a coarse field, of whose values there are few, goes from
// one value to the next, and within each by the fields that follow.
type listBounds struct {
	few    int // how many rows a filter may find to be carried out whole at once
	window int // how many rows are looked at in the order of a list
	values int // how many values of a coarse field are gone through
	// times are those between the stretches of totals; nil: by Postgres' statistics.
	times []time.Time
}

const (
	fewRows      = 10_000
	windowRows   = 20_000
	coarseValues = 64
)

// List is a page of nodes or edges.
type List[T any] struct {
	Items []T
	Total int64     // how many pass the filter in all
	Next  *Position // of the last item, if more follow
}

// resource is what reads of nodes and of edges differ in.
type resource[T any] struct {
	table, columns string
	label          string // the column of its type
	kind           graph.Kind
	scan           func(pgx.CollectableRow) (T, error)
	position       func(*T) Position
}

var nodes = resource[graph.Node]{
	table: "nodes", columns: nodeColumns, label: "entity_type", kind: graph.KindNode, scan: scanNode,
	position: func(n *graph.Node) Position {
		return Position{
			ID: n.ID, Name: n.Name, Type: string(n.EntityType), CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt,
			Version: n.Version,
		}
	},
}

var edges = resource[graph.Edge]{
	table: "edges", columns: edgeColumns, label: "relation_type", kind: graph.KindEdge, scan: scanEdge,
	position: func(e *graph.Edge) Position {
		return Position{
			ID: e.ID, Type: e.RelationType, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, Version: e.Version,
		}
	},
}

// Nodes lists a page of the workspace's nodes that stand and pass the filter.
func (db *Store) Nodes(
	ctx context.Context, workspace uuid.UUID, filter NodeFilter, page Page,
) (List[graph.Node], error) {
	return listGraph(ctx, db, nodes, workspace, &filter, page)
}

// Edges lists a page of the workspace's edges that stand and pass the filter.
func (db *Store) Edges(
	ctx context.Context, workspace uuid.UUID, filter EdgeFilter, page Page,
) (List[graph.Edge], error) {
	return listGraph(ctx, db, edges, workspace, &filter, page)
}

func listGraph[T any](
	ctx context.Context, db *Store, of resource[T], workspace uuid.UUID, filter conditions, page Page,
) (list List[T], err error) {
	err = db.root.Reading(ctx, func(tx pgx.Tx) error {
		l := &lister{
			tx: tx, table: of.table, label: of.label, kind: of.kind, workspace: workspace, filter: filter, totals: db.totals,
			bounds: db.bounds,
		}
		by := page.order()
		if page.After != nil {
			l.bound = page.After.Bound
		}
		ids, total, err := l.list(ctx, stretch{order: by, after: page.After, skip: page.Offset, need: page.Limit + 1})
		if err != nil {
			return err
		}
		more := len(ids) > page.Limit
		list.Total = total
		list.Items, err = fetch(ctx, tx, of, workspace, ids[:min(len(ids), page.Limit)])
		if err == nil && more {
			last := of.position(&list.Items[len(list.Items)-1])
			list.Next = by.position(&last)
			list.Next.Bound, err = l.nextBound(ctx, by, page.After)
		}
		return err
	})
	if err != nil {
		return List[T]{}, postgres.Classify(fmt.Errorf("listing %s: %w", of.table, err))
	}
	return list, nil
}

// fetch reads the resources with the ids, in their order. They are there: the ids
// were found in the same transaction.
func fetch[T any](ctx context.Context, tx pgx.Tx, of resource[T], workspace uuid.UUID, ids []uuid.UUID) ([]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, `SELECT `+of.columns+` FROM `+of.table+` WHERE workspace_id = $1 AND id = ANY($2)`,
		pgx.QueryExecModeCacheDescribe, workspace, ids)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, of.scan)
	if err != nil {
		return nil, err
	}
	place := make(map[uuid.UUID]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortFunc(found, func(a, b T) int { return place[of.position(&a).ID] - place[of.position(&b).ID] })
	return found, nil
}

// lister finds the ids of a page.
type lister struct {
	tx           pgx.Tx
	table, label string
	kind         graph.Kind
	workspace    uuid.UUID
	filter       conditions
	totals       *totals
	bounds       listBounds
	bound        int64 // pages after the first leave out what was changed after this sequence; 0: nothing
}

// stretch is a part of a list: the rows that have the values of some coarse fields,
// sorted by what is left of the order.
type stretch struct {
	equal []equality
	order order
	after *Position
	skip  int // with after: 0
	need  int
}

type equality struct {
	field string
	value any
}

// list returns the ids of a stretch that is the whole list, and the total.
func (l *lister) list(ctx context.Context, s stretch) (ids []uuid.UUID, total int64, err error) {
	filtered := l.filter.labels() != nil || l.filter.others()
	total, known, err := l.knownTotal(ctx)
	if err != nil {
		return nil, 0, err
	}
	if filtered && !known {
		if total, known, err = l.countBroad(ctx); err != nil {
			return nil, 0, err
		}
	}
	if filtered && (!known || total <= int64(l.bounds.few)) {
		count, ids, err := l.whole(ctx, s)
		if err != nil || count <= int64(l.bounds.few) {
			return ids, count, err
		}
	}
	if !known {
		if total, err = l.count(ctx); err != nil {
			return nil, 0, err
		}
	}
	if int64(s.skip) >= total {
		return nil, total, nil
	}
	if !filtered && len(s.order) == 2 {
		ids, err = l.indexed(ctx, s, int(total))
		return ids, total, err
	}
	ids, err = l.sorted(ctx, s)
	return ids, total, err
}

// where is the condition of the rows that stand.
func (l *lister) where() *postgres.Where {
	w := &postgres.Where{}
	w.Add("workspace_id = ?", l.workspace)
	w.Add("NOT deleted")
	return w
}

func (l *lister) ids(ctx context.Context, query string, w *postgres.Where) ([]uuid.UUID, error) {
	rows, err := l.tx.Query(ctx, query, postgres.Planned(w.Args)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// number asks for one number; none is 0.
func (l *lister) number(ctx context.Context, query string, w *postgres.Where) (n int64, err error) {
	err = l.tx.QueryRow(ctx, query, postgres.Planned(w.Args)...).Scan(&n)
	return n, err
}

// apply adds the filter and the values of a stretch.
func (l *lister) apply(w *postgres.Where, s *stretch) {
	l.filter.apply(w)
	for _, e := range s.equal {
		w.Add(sortFields[e.field].column+" = ?", e.value)
	}
}
