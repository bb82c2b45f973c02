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
	"github.com/livegraph/livegraph/storage/postgres/graphrow"
)

// Nodes and edges are listed in the order of any of their fields with an exact total, from up to a
// million nodes and five million edges in a workspace. The planner of Postgres relies on
// estimates, which are wrong where it matters most: for the values of properties, and for
// whether the rows that pass a filter are at the beginning of an order or at its end. So a list
// is read in steps whose cost is bounded for any data. The first step that succeeds has the
// result:
//
//   - Without a filter, the page is read from the index of the order, and the total from
//     graph_totals.
//   - If few rows pass the filter, all of them are read with the index of the filter, counted
//     and sorted. Finding out that more than a few pass can take as long as counting them.
//     Where the estimate is far above the limit, they are counted at once. If the estimate is
//     wrong, only that count was unnecessary.
//   - If many rows pass the filter, the first ones are found early in the order of the list: a
//     limited number of rows is read from the index of the order and filtered.
//   - Otherwise all rows that pass are sorted.
//
// An order that begins with a coarse field, which has few distinct values, is read one value at
// a time, and within each value in the order of the following fields.
type listLimits struct {
	maxSmallResult int // maximum number of rows that are filtered, counted and sorted at once
	windowRows     int // number of rows that are read from the index of an order and filtered
	maxValues      int // maximum number of values of a coarse field that are read one at a time
	pastEntries    int // see graphpast.DefaultMaxEntries
	// bucketTimes are the bounds of the histogram buckets of totals; nil: those in the
	// statistics of Postgres.
	bucketTimes []time.Time
}

const (
	defaultMaxSmallResult = 10_000
	defaultWindowRows     = 20_000
	defaultMaxValues      = 64
)

// List is a page of nodes or edges.
type List[T any] struct {
	Items []T
	Total int64     // number of all that pass the filter
	Next  *Position // of the last item, if more follow; otherwise nil
	Bytes int       // approximate size of the items, for a page with MaxBytes
}

// resource has the differences between reading nodes and reading edges.
type resource[T any] struct {
	table, columns string
	label          string // the column of its type
	kind           graph.Kind
	scan           func(pgx.CollectableRow) (T, error)
	position       func(*T) Position
	size           func(*T) int // approximate size in bytes
}

var nodes = resource[graph.Node]{
	table: "nodes", columns: graphrow.NodeColumns, label: "entity_type", kind: graph.KindNode, scan: graphrow.ScanNode,
	position: func(n *graph.Node) Position {
		return Position{
			ID: n.ID, Name: n.Name, Type: string(n.EntityType), CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt,
			Version: n.Version,
		}
	},
	size: func(n *graph.Node) int {
		size := itemBytes + len(n.Name) + propertiesSize(n.Properties)
		if n.Description != nil {
			size += len(*n.Description)
		}
		return size
	},
}

var edges = resource[graph.Edge]{
	table: "edges", columns: graphrow.EdgeColumns, label: "relation_type", kind: graph.KindEdge, scan: graphrow.ScanEdge,
	position: func(e *graph.Edge) Position {
		return Position{
			ID: e.ID, Type: e.RelationType, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, Version: e.Version,
		}
	},
	size: func(e *graph.Edge) int { return itemBytes + len(e.RelationType) + propertiesSize(e.Properties) },
}

// Nodes returns a page of the workspace's live nodes that pass the filter.
func (db *Store) Nodes(
	ctx context.Context, workspace uuid.UUID, filter NodeFilter, page Page,
) (List[graph.Node], error) {
	return listGraph(ctx, db, nodes, workspace, &filter, page)
}

// Edges returns a page of the workspace's live edges that pass the filter.
func (db *Store) Edges(
	ctx context.Context, workspace uuid.UUID, filter EdgeFilter, page Page,
) (List[graph.Edge], error) {
	return listGraph(ctx, db, edges, workspace, &filter, page)
}

func listGraph[T any](
	ctx context.Context, db *Store, res resource[T], workspace uuid.UUID, filter conditions, page Page,
) (list List[T], err error) {
	err = db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		l := &lister{
			tx: tx, table: res.table, label: res.label, kind: res.kind, workspace: workspace, filter: filter, totals: db.totals,
			limits: db.limits,
		}
		by := page.order()
		if page.After != nil {
			l.bound = page.After.Bound
		}
		ids, total, err := l.list(ctx, pageRange{order: by, after: page.After, skip: page.Offset, need: page.Limit + 1})
		if err != nil {
			return err
		}
		list.Total = total
		list.Items, list.Bytes, err = fetchPage(ctx, tx, res, workspace, ids[:min(len(ids), page.Limit)], page.MaxBytes)
		if err == nil && len(list.Items) < len(ids) {
			last := res.position(&list.Items[len(list.Items)-1])
			list.Next = by.position(&last)
			list.Next.Bound, err = l.nextBound(ctx, by, page.After)
		}
		return err
	})
	if err != nil {
		return List[T]{}, postgres.Classify(fmt.Errorf("listing %s: %w", res.table, err))
	}
	return list, nil
}

// FetchItems is the number of items that are read at a time if the size of a page is bounded.
const FetchItems = 50

const (
	// itemBytes and propertyBytes are the sizes of an item and a property without their texts.
	itemBytes, propertyBytes = 200, 64
)

func propertiesSize(properties graph.Properties) int {
	size := 0
	for name, value := range properties {
		size += propertyBytes + len(name) + len(value)
	}
	return size
}

// fetchPage reads the resources with the ids, in their order, until they are maxBytes large. maxBytes 0: it reads all.
func fetchPage[T any](
	ctx context.Context, tx pgx.Tx, res resource[T], workspace uuid.UUID, ids []uuid.UUID, maxBytes int,
) (items []T, size int, err error) {
	if maxBytes == 0 {
		items, err = fetch(ctx, tx, res, workspace, ids)
		return items, 0, err
	}
	for chunk := range slices.Chunk(ids, FetchItems) {
		found, err := fetch(ctx, tx, res, workspace, chunk)
		if err != nil {
			return nil, 0, err
		}
		for i := range found {
			size += res.size(&found[i])
		}
		if items = append(items, found...); size >= maxBytes {
			break
		}
	}
	return items, size, nil
}

// fetch reads the resources with the ids, in their order. All of them exist, because the ids were
// read in the same transaction.
func fetch[T any](ctx context.Context, tx pgx.Tx, res resource[T], workspace uuid.UUID, ids []uuid.UUID) ([]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, `SELECT `+res.columns+` FROM `+res.table+` WHERE workspace_id = $1 AND id = ANY($2)`,
		pgx.QueryExecModeCacheDescribe, workspace, ids)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, res.scan)
	if err != nil {
		return nil, err
	}
	index := make(map[uuid.UUID]int, len(ids))
	for i, id := range ids {
		index[id] = i
	}
	slices.SortFunc(found, func(a, b T) int { return index[res.position(&a).ID] - index[res.position(&b).ID] })
	return found, nil
}

// lister finds the ids of a page.
type lister struct {
	tx           pgx.Tx
	table, label string
	kind         graph.Kind
	workspace    uuid.UUID
	filter       conditions
	totals       *totalCache
	limits       listLimits
	bound        int64 // rows changed after this sequence are left out; 0: none are
}

// pageRange is a page of a part of a list: of the rows with given values of some coarse fields,
// sorted by the other fields of the order.
type pageRange struct {
	equal []equality
	order order
	after *Position
	skip  int // 0 if after is set
	need  int
}

type equality struct {
	field string
	value any
}

// list returns the ids of a page of the whole list, and the total.
func (l *lister) list(ctx context.Context, s pageRange) (ids []uuid.UUID, total int64, err error) {
	filtered := l.filter.labels() != nil || l.filter.hasOtherConditions()
	total, known, err := l.knownTotal(ctx)
	if err != nil {
		return nil, 0, err
	}
	if filtered && !known {
		if total, known, err = l.countBroad(ctx); err != nil {
			return nil, 0, err
		}
	}
	if filtered && (!known || total <= int64(l.limits.maxSmallResult)) {
		count, ids, err := l.filterSmall(ctx, s)
		if err != nil || count <= int64(l.limits.maxSmallResult) {
			return ids, count, err
		}
	}
	if !known {
		if total, err = l.countTotal(ctx); err != nil {
			return nil, 0, err
		}
	}
	if int64(s.skip) >= total {
		return nil, total, nil
	}
	if !filtered && len(s.order) == 2 {
		ids, err = l.readIndexed(ctx, s, int(total))
		return ids, total, err
	}
	ids, err = l.readOrdered(ctx, s)
	return ids, total, err
}

// liveWhere returns the condition of the live rows of the workspace.
func (l *lister) liveWhere() *postgres.Where {
	w := &postgres.Where{}
	w.Add("workspace_id = ?", l.workspace)
	w.Add("NOT deleted")
	return w
}

func (l *lister) queryIDs(ctx context.Context, query string, w *postgres.Where) ([]uuid.UUID, error) {
	rows, err := l.tx.Query(ctx, query, postgres.WithCustomPlan(w.Args)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// queryNumber reads one number.
func (l *lister) queryNumber(ctx context.Context, query string, w *postgres.Where) (n int64, err error) {
	err = l.tx.QueryRow(ctx, query, postgres.WithCustomPlan(w.Args)...).Scan(&n)
	return n, err
}

// apply adds the conditions of the filter and the values of a range.
func (l *lister) apply(w *postgres.Where, s *pageRange) {
	l.filter.apply(w)
	for _, e := range s.equal {
		w.Add(sortFields[e.field].column+" = ?", e.value)
	}
}
