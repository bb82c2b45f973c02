package textindex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/lease"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/storage/postgres"
)

// NodeRef identifies a node.
type NodeRef struct{ Workspace, Node uuid.UUID }

// NodeTexts has the contents of a node that are indexed.
type NodeTexts struct {
	NodeRef
	EntityType  string
	Name        string
	Description string
	Properties  graph.Properties
}

// IndexedNode describes what an index contains of a node.
type IndexedNode struct {
	NodeRef
	EntityType string
	TextHash   []byte // nil: nothing is embedded yet
	Chunks     int    // the numbers of the chunks in the index are below it
	Vectors    int    // number of vectors in the index
	Intent     bool   // a write was begun and not completed: the contents are unknown
}

// IndexProgress is the progress of an index with a workspace.
type IndexProgress struct {
	Sequence int64
	Built    bool // false: the build is in progress
}

// LiveTexts reads the current texts of nodes. It leaves out nodes that are deleted or whose
// workspace is deleted.
func (db *Store) LiveTexts(ctx context.Context, refs []NodeRef) (map[NodeRef]NodeTexts, error) {
	return liveTexts(ctx, db.pool, refs)
}

func liveTexts(ctx context.Context, q postgres.Querier, refs []NodeRef) (map[NodeRef]NodeTexts, error) {
	workspaces, ids := refColumns(refs)
	rows, err := q.Query(
		ctx, `SELECT n.workspace_id, n.id, n.entity_type, n.name, COALESCE(n.description, ''), n.properties
		FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace, node)
		JOIN workspaces w ON w.id = t.workspace AND w.deleted_at IS NULL
		CROSS JOIN LATERAL (SELECT * FROM nodes x WHERE x.workspace_id = t.workspace AND x.id = t.node OFFSET 0) n
		WHERE NOT n.deleted`, postgres.WithCustomPlan([]any{workspaces, ids})...,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading nodes to index: %w", err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n NodeTexts, err error) {
		var properties []byte
		if err := row.Scan(&n.Workspace, &n.Node, &n.EntityType, &n.Name, &n.Description, &properties); err != nil {
			return n, err
		}
		n.Properties, err = graph.ReadProperties(properties)
		return n, err
	})
	return byRef(list, func(n NodeTexts) NodeRef { return n.NodeRef }), postgres.Classify(err)
}

// IndexedNodes reads what an index contains of nodes.
func (db *Store) IndexedNodes(ctx context.Context, index uuid.UUID, refs []NodeRef) (map[NodeRef]IndexedNode, error) {
	return indexedNodes(ctx, db.pool, index, refs)
}

func indexedNodes(
	ctx context.Context, q postgres.Querier, index uuid.UUID, refs []NodeRef,
) (map[NodeRef]IndexedNode, error) {
	workspaces, ids := refColumns(refs)
	rows, err := q.Query(ctx, `SELECT e.workspace_id, e.node_id, e.entity_type, e.text_hash, e.chunks, e.vectors, e.intent
		FROM unnest($2::uuid[], $3::uuid[]) AS t (workspace, node)
		CROSS JOIN LATERAL (
			SELECT * FROM embedding_nodes x WHERE x.index_id = $1 AND x.workspace_id = t.workspace
			AND x.node_id = t.node OFFSET 0) e`,
		postgres.WithCustomPlan([]any{index, workspaces, ids})...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading what is indexed: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanIndexedNode)
	return byRef(list, func(n IndexedNode) NodeRef { return n.NodeRef }), postgres.Classify(err)
}

func scanIndexedNode(row pgx.CollectableRow) (n IndexedNode, err error) {
	return n, row.Scan(&n.Workspace, &n.Node, &n.EntityType, &n.TextHash, &n.Chunks, &n.Vectors, &n.Intent)
}

func refColumns(refs []NodeRef) (workspaces, ids []uuid.UUID) {
	for _, r := range refs {
		workspaces, ids = append(workspaces, r.Workspace), append(ids, r.Node)
	}
	return workspaces, ids
}

func byRef[T any](list []T, key func(T) NodeRef) map[NodeRef]T {
	found := make(map[NodeRef]T, len(list))
	for _, item := range list {
		found[key(item)] = item
	}
	return found
}

// IndexWriter writes an index for some workspaces. It holds their leases, exclusive among all processes. It is
// used by one goroutine.
type IndexWriter struct {
	*Store
	index  uuid.UUID
	leases *postgres.LeaseSet
	holder uuid.UUID
}

const (
	// indexLease is the time after which another process may write the workspaces of a process that died.
	indexLease = 6 * time.Second
	// maxIndexWait is the maximum time for which WriteIndex waits for another writer.
	maxIndexWait = 10 * time.Second
	// The leases of other writers are requested again with delays between these.
	indexRetryMin, indexRetryMax = 5 * time.Millisecond, 200 * time.Millisecond
)

// WriteIndex waits for the other writers of an index for the workspaces and runs write, which is the only
// writer meanwhile. The context of write is cancelled if that is no longer certain. From then on, the methods of
// the IndexWriter that write fail.
//
// The leases are rows, not locks of a session, so that they do not depend on one connection to the server, which a
// pooler such as PgBouncer may share.
func (db *Store) WriteIndex(
	ctx context.Context, index uuid.UUID, workspaces []uuid.UUID, write func(context.Context, *IndexWriter) error,
) error {
	names := make([]string, len(workspaces))
	for i, id := range workspaces {
		names[i] = "index " + index.String() + " " + id.String()
	}
	set := db.root.NewLeaseSet(names)
	l := lease.New(set, "index", indexLease)
	w := &IndexWriter{Store: db, index: index, leases: set, holder: l.Holder()}
	defer func() {
		if err := l.Release(ctx); err != nil {
			slog.WarnContext(ctx, "the leases of a writer of the search index run out by themselves", "error", err)
		}
	}()
	until := time.Now().Add(maxIndexWait)
	for pace := retry.New(indexRetryMin, indexRetryMax); ; {
		err := l.Run(ctx, func(ctx context.Context) error { return write(ctx, w) })
		switch {
		case !errors.Is(err, lease.ErrHeld):
			return leaseError(err)
		case time.Now().After(until):
			return fault.Wrap(err, fault.Unavailable, "The search index is being written").After(postgres.RetryAfter)
		case !pace.Wait(ctx):
			return ctx.Err()
		}
	}
}

// leaseError adds a kind to the error of a lost lease: the work can be repeated.
func leaseError(err error) error {
	if errors.Is(err, lease.ErrLost) {
		return fault.Wrap(err, fault.Unavailable, "Another process writes the search index").After(postgres.RetryAfter)
	}
	return err
}

// IndexedNodes reads what the index contains of nodes.
func (w *IndexWriter) IndexedNodes(ctx context.Context, refs []NodeRef) (map[NodeRef]IndexedNode, error) {
	return indexedNodes(ctx, w.pool, w.index, refs)
}

// Intend records that nodes are about to be written to the index, with their numbers of chunks.
func (w *IndexWriter) Intend(ctx context.Context, nodes []IndexedNode) error {
	if len(nodes) == 0 {
		return nil
	}
	c := indexedColumns(nodes)
	_, err := w.pool.Exec(ctx, `INSERT INTO embedding_nodes AS e (index_id, workspace_id, node_id, entity_type, chunks)
		SELECT $1, * FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::int[])
		ON CONFLICT (index_id, workspace_id, node_id) DO UPDATE SET intent = true,
		chunks = GREATEST(e.chunks, excluded.chunks)`,
		w.index, c.workspaces, c.nodes, c.types, c.chunks)
	if err != nil {
		return postgres.Classify(fmt.Errorf("noting what is about to be indexed: %w", err))
	}
	return nil
}

// IndexedBatch describes what was written to an index.
type IndexedBatch struct {
	Nodes   []IndexedNode // nodes that it now contains
	Removed []NodeRef     // nodes that were removed from it
	// Progress has for each workspace the sequence of the change up to which the index is
	// complete. A stored sequence is never lowered. Workspaces whose progress is not known are
	// left out.
	Progress map[uuid.UUID]int64
}

// Complete records what was written, in one transaction.
func (w *IndexWriter) Complete(ctx context.Context, done IndexedBatch) error {
	err := w.inTx(ctx, func(tx pgx.Tx) error {
		c := indexedColumns(done.Nodes)
		sums, err := changedSums(ctx, tx, w.index, append(slices.Clone(done.Removed), c.refs...))
		if err != nil {
			return err
		}
		_, err = tx.Exec(
			ctx,
			`UPDATE embedding_nodes e SET entity_type = t.type, text_hash = t.hash, chunks = t.chunks, vectors = t.vectors,
				intent = false
			FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::int[], $6::bytea[], $7::int[]) AS t (workspace, node, type,
			chunks, hash, vectors)
			WHERE e.index_id = $1 AND e.workspace_id = t.workspace AND e.node_id = t.node`,
			w.index, c.workspaces, c.nodes, c.types, c.chunks, c.hashes, c.vectors,
		)
		if err != nil {
			return err
		}
		workspaces, ids := refColumns(done.Removed)
		_, err = tx.Exec(ctx, `DELETE FROM embedding_nodes e USING unnest($2::uuid[], $3::uuid[]) AS t (workspace, node)
			WHERE e.index_id = $1 AND e.workspace_id = t.workspace AND e.node_id = t.node`, w.index, workspaces, ids)
		if err != nil {
			return err
		}
		for _, n := range done.Nodes {
			sums.add(n.Workspace, 1, int64(n.Vectors))
		}
		return w.progress(ctx, tx, sums, done.Progress)
	})
	if err != nil {
		return postgres.Classify(fmt.Errorf("noting what is indexed: %w", err))
	}
	return nil
}

// inTx runs work in a transaction during which no other process becomes a writer. The error is lease.ErrLost if
// another one was in the meantime.
func (w *IndexWriter) inTx(ctx context.Context, work func(pgx.Tx) error) error {
	return leaseError(w.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		if err := w.leases.Lock(ctx, tx, w.holder); err != nil {
			return err
		}
		return work(tx)
	}))
}

// sums are the changes of the numbers of nodes and vectors, by workspace.
type sums map[uuid.UUID][2]int64

func (s sums) add(workspace uuid.UUID, nodes, vectors int64) {
	was := s[workspace]
	s[workspace] = [2]int64{was[0] + nodes, was[1] + vectors}
}

// changedSums returns sums that subtract what the nodes are counted for.
func changedSums(ctx context.Context, tx pgx.Tx, index uuid.UUID, refs []NodeRef) (sums, error) {
	before, err := indexedNodes(ctx, tx, index, refs)
	if err != nil {
		return nil, err
	}
	changed := sums{}
	for _, n := range before {
		if n.TextHash != nil {
			changed.add(n.Workspace, -1, -int64(n.Vectors))
		}
	}
	return changed, nil
}

// progress updates the progress of workspaces. It does not create a row for a workspace that was
// deleted concurrently.
func (w *IndexWriter) progress(ctx context.Context, tx pgx.Tx, changed sums, sequences map[uuid.UUID]int64) error {
	for workspace := range sequences {
		changed.add(workspace, 0, 0)
	}
	var (
		workspaces            []uuid.UUID
		moved, nodes, vectors []int64
	)
	for workspace, change := range changed {
		workspaces, moved = append(workspaces, workspace), append(moved, sequences[workspace])
		nodes, vectors = append(nodes, change[0]), append(vectors, change[1])
	}
	_, err := tx.Exec(ctx, `INSERT INTO embedding_progress AS p (index_id, workspace_id, sequence, nodes, vectors)
		SELECT $1, t.* FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) AS t (workspace, sequence, nodes,
		vectors)
		JOIN workspaces w ON w.id = t.workspace AND w.deleted_at IS NULL
		ON CONFLICT (index_id, workspace_id) DO UPDATE SET sequence = GREATEST(p.sequence, excluded.sequence),
			nodes = GREATEST(p.nodes + excluded.nodes, 0), vectors = GREATEST(p.vectors + excluded.vectors, 0),
			indexed_at = now()`,
		w.index, workspaces, moved, nodes, vectors)
	return err
}

// indexedTable are indexed nodes as columns.
type indexedTable struct {
	refs              []NodeRef
	workspaces, nodes []uuid.UUID
	types             []string
	hashes            [][]byte
	chunks, vectors   []int32
}

func indexedColumns(list []IndexedNode) (t indexedTable) {
	for _, n := range list {
		t.refs = append(t.refs, n.NodeRef)
		t.types, t.hashes = append(t.types, n.EntityType), append(t.hashes, n.TextHash)
		t.chunks, t.vectors = append(t.chunks, int32(n.Chunks)), append(t.vectors, int32(n.Vectors))
	}
	t.workspaces, t.nodes = refColumns(t.refs)
	return t
}
