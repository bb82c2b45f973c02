// Package linkstore has the queue of the nodes whose texts are compared with the names of others, and the links that
// exist. Package textindex adds to the queue in the transactions that index texts.
package linkstore

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/internal/retrieval/links"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Store is the store of links in a database.
type Store struct {
	root *postgres.DB
	pool *pgxpool.Pool
}

// New returns a store on a database.
func New(db *postgres.DB) *Store { return &Store{root: db, pool: db.Pool()} }

// maxKeyNodes is the maximum number of nodes that are queued because their texts contain a name.
const maxKeyNodes = 20_000

// Mode is in which texts of a workspace mentions become links.
type Mode string

// The modes.
const (
	Off       Mode = "off"
	Documents Mode = "documents" // of documents
	All       Mode = "all"       // of all nodes
)

// Modes returns all modes.
func Modes() []string {
	return []string{string(Off), string(Documents), string(All)}
}

// selectMentioning selects the nodes whose texts have all terms of a name, of which $2 is the rarest.
const selectMentioning = `SELECT p.node_id FROM lexical_postings p WHERE p.workspace_id = $1 AND p.term = $2
	AND NOT EXISTS (SELECT FROM unnest($3::text[]) AS t (term) WHERE NOT EXISTS (
		SELECT FROM lexical_postings q WHERE q.workspace_id = $1 AND q.term = t.term AND q.node_id = p.node_id))
	LIMIT $4`

// OrQueueAgain ends an insert into link_nodes AS l. A node that is being compared is then compared again.
const OrQueueAgain = `ON CONFLICT (workspace_id, node_id)
	DO UPDATE SET revision = l.revision + 1, attempts = 0, due_at = now()`

// QueueMentioning queues nodes whose links are enabled. All statements lock the rows of the queue in
// one order, to avoid deadlocks.
const QueueMentioning = `INSERT INTO link_nodes AS l (workspace_id, node_id)
	SELECT DISTINCT n.workspace_id, n.id FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, id)
	JOIN nodes n ON n.workspace_id = t.workspace_id AND n.id = t.id AND NOT n.deleted
	JOIN workspaces w ON w.id = t.workspace_id AND (w.links = 'all' OR w.links = 'documents'
		AND n.properties -> 'document' ->> 'externalId' IS NOT NULL)
	ORDER BY 1, 2 ` + OrQueueAgain

// ExpandLinkKeys takes up to limit names that nodes got or lost, queues the nodes whose texts contain
// them, and returns the number of names.
func (db *Store) ExpandLinkKeys(ctx context.Context, limit int) (expanded int, err error) {
	err = db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `DELETE FROM link_keys k USING (
			SELECT workspace_id, key FROM link_keys ORDER BY workspace_id, key LIMIT $1 FOR UPDATE SKIP LOCKED) t
			WHERE k.workspace_id = t.workspace_id AND k.key = t.key RETURNING k.workspace_id, k.key`, limit)
		if err != nil {
			return err
		}
		keys, err := pgx.CollectRows(rows, pgx.RowToStructByPos[linkKey])
		if err != nil || len(keys) == 0 {
			return err
		}
		var mentioning postgres.IDList
		for _, k := range keys {
			nodes, err := nodesMentioning(ctx, tx, k)
			if err != nil {
				return err
			}
			mentioning.Add(k.Workspace, nodes, nil)
		}
		expanded = len(keys)
		_, err = tx.Exec(ctx, QueueMentioning, mentioning.Workspaces, mentioning.IDs)
		return err
	})
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("queueing the nodes that mention names: %w", err))
	}
	return expanded, nil
}

// linkKey is a name of a workspace.
type linkKey struct {
	Workspace uuid.UUID
	Key       string
}

// nodesMentioning returns nodes whose texts have all words of a name.
func nodesMentioning(ctx context.Context, tx pgx.Tx, k linkKey) ([]uuid.UUID, error) {
	var terms []string
	for _, t := range lexical.Parse(k.Key).Terms {
		terms = append(terms, t.Text)
	}
	var rarest *string
	err := tx.QueryRow(ctx, `SELECT (SELECT t.term FROM lexical_terms t WHERE t.workspace_id = $1 AND t.term = ANY($2)
		ORDER BY t.nodes, t.term LIMIT 1)`, k.Workspace, terms).Scan(&rarest)
	if err != nil || rarest == nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, selectMentioning, k.Workspace, *rarest, terms, maxKeyNodes)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (uuid.UUID, error) {
		var id pgtype.UUID
		err := row.Scan(&id)
		return id.Bytes, err
	})
}

// Node is a queued node.
type Node struct {
	Workspace, Node uuid.UUID
	Attempts        int
	Revision        int64
	Mode            Mode
}

// DueLinkNodes returns up to limit queued nodes, the longest due first.
func (db *Store) DueLinkNodes(ctx context.Context, limit int) ([]Node, error) {
	rows, err := db.pool.Query(ctx, `SELECT l.workspace_id, l.node_id, l.attempts, l.revision, w.links FROM link_nodes l
		JOIN workspaces w ON w.id = l.workspace_id WHERE l.due_at <= now() ORDER BY l.due_at LIMIT $1`, limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the nodes to link: %w", err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Node])
	return list, postgres.Classify(err)
}

// lockLinkNodes locks the queued nodes that were not queued again.
const lockLinkNodes = `WITH locked AS (SELECT l.workspace_id, l.node_id FROM link_nodes l
	JOIN unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS t (workspace_id, id, revision)
	ON l.workspace_id = t.workspace_id AND l.node_id = t.id AND l.revision = t.revision
	ORDER BY l.workspace_id, l.node_id FOR UPDATE OF l) `

// FinishLinkNodes removes nodes from the queue, unless they were queued again.
func (db *Store) FinishLinkNodes(ctx context.Context, nodes []Node) error {
	ids, revisions := linkNodeColumns(nodes)
	_, err := db.pool.Exec(ctx, lockLinkNodes+`DELETE FROM link_nodes l USING locked t
		WHERE l.workspace_id = t.workspace_id AND l.node_id = t.node_id`,
		ids.Workspaces, ids.IDs, revisions)
	return postgres.Classify(err)
}

// DelayLinkNodes makes nodes due again after a time, and counts the attempt.
func (db *Store) DelayLinkNodes(ctx context.Context, nodes []Node, delay time.Duration) error {
	ids, revisions := linkNodeColumns(nodes)
	_, err := db.pool.Exec(ctx, lockLinkNodes+`UPDATE link_nodes l SET attempts = attempts + 1,
			due_at = now() + make_interval(secs => $4::float8 * least(l.attempts + 1, 120))
		FROM locked t WHERE l.workspace_id = t.workspace_id AND l.node_id = t.node_id`,
		ids.Workspaces, ids.IDs, revisions, delay.Seconds())
	return postgres.Classify(err)
}

func linkNodeColumns(nodes []Node) (ids postgres.IDList, revisions []int64) {
	for _, n := range nodes {
		ids.Add(n.Workspace, []uuid.UUID{n.Node}, nil)
		revisions = append(revisions, n.Revision)
	}
	return ids, revisions
}

// LinkOwners returns the nodes that have the names with the keys, at most one more of each name than
// identify it.
func (db *Store) LinkOwners(
	ctx context.Context, workspace uuid.UUID, keys []string,
) (map[string][]links.Owner, error) {
	rows, err := db.pool.Query(ctx, `SELECT k.key, n.node_id, n.alias, n.capital FROM unnest($2::text[]) AS k (key)
		CROSS JOIN LATERAL (SELECT node_id, alias, capital FROM link_names WHERE workspace_id = $1 AND key = k.key
			ORDER BY alias, node_id LIMIT $3) n`, workspace, keys, 2*(links.MaxNamesakes+1))
	owners := map[string][]links.Owner{}
	if err == nil {
		var o links.Owner
		var id pgtype.UUID
		_, err = pgx.ForEachRow(rows, []any{&o.Key, &id, &o.Alias, &o.Capital}, func() error {
			o.Node = id.Bytes
			owners[o.Key] = append(owners[o.Key], o)
			return nil
		})
	}
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("looking up names: %w", err))
	}
	return owners, nil
}

// Stored is a link of a node, in effect or deleted.
type Stored struct {
	ID, Source, Target uuid.UUID
	Properties         []byte
	Deleted            bool
	DeletedBy          int64 // sequence; 0 if its creation was undone
	Cascade            bool  // it was deleted with one of its nodes
	UpdatedAt          time.Time
}

// LinksOf returns the links of nodes, and deleted edges of their relation type, which may have been links,
// at most limit of each node.
func (db *Store) LinksOf(ctx context.Context, workspace uuid.UUID, nodes []uuid.UUID, limit int) ([]Stored, error) {
	rows, err := db.pool.Query(ctx, `SELECT e.* FROM unnest($2::uuid[]) AS s (id) CROSS JOIN LATERAL (
			SELECT id, source_id, target_id, properties::text, deleted, deleted_by,
				deleted AND deleted_by <> 0 AND deleted_by = taken_sequence, updated_at
			FROM edges WHERE workspace_id = $1 AND source_id = s.id AND relation_type = $3
				AND (deleted OR properties ? 'link')
			ORDER BY deleted, id LIMIT $4) e`, workspace, postgres.IDArray(nodes), Relation, limit)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the links of nodes: %w", err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Stored])
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the links of nodes: %w", err))
	}
	return list, nil
}

// Relation is the relation type of links.
const Relation = "mentions"

// IncomingLinks returns the number of edges of the relation type of links that lead to nodes, counted up
// to limit.
func (db *Store) IncomingLinks(
	ctx context.Context, workspace uuid.UUID, targets []uuid.UUID, limit int,
) (map[uuid.UUID]int, error) {
	rows, err := db.pool.Query(ctx, `SELECT t.id, (SELECT count(*) FROM (
			SELECT FROM edges WHERE workspace_id = $1 AND target_id = t.id AND relation_type = $3 AND NOT deleted LIMIT $4) e)
		FROM unnest($2::uuid[]) AS t (id)`, workspace, postgres.IDArray(targets), Relation, limit)
	counts := map[uuid.UUID]int{}
	if err == nil {
		var id pgtype.UUID
		var n int
		_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error {
			counts[id.Bytes] = n
			return nil
		})
	}
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("counting the links to nodes: %w", err))
	}
	return counts, nil
}

// SetLinkMode sets in which texts of a workspace mentions become links, and queues its nodes.
func (db *Store) SetLinkMode(ctx context.Context, workspace uuid.UUID, mode Mode) (known bool, err error) {
	err = db.root.InBulkTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(
			ctx, `UPDATE workspaces SET links = $2 WHERE id = $1 AND deleted_at IS NULL AND links <> $2`, workspace, mode,
		)
		if err != nil {
			return err
		}
		if known = tag.RowsAffected() == 1; !known {
			return tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM workspaces WHERE id = $1 AND deleted_at IS NULL)`,
				workspace).Scan(&known)
		}
		_, err = tx.Exec(ctx, `INSERT INTO link_nodes AS l (workspace_id, node_id)
			SELECT workspace_id, id FROM nodes WHERE workspace_id = $1 AND NOT deleted ORDER BY 1, 2 `+OrQueueAgain, workspace)
		return err
	})
	return known, postgres.Classify(err)
}
