package textindex

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// ChampionList identifies the champion list of a term.
type ChampionList struct {
	Workspace uuid.UUID
	Term      string
}

// DueChampionLists returns at most limit champion lists that must be filled or shortened.
func (db *Store) DueChampionLists(ctx context.Context, limit int) ([]ChampionList, error) {
	rows, err := db.pool.Query(
		ctx, `SELECT workspace_id, term FROM lexical_champion_lists WHERE due ORDER BY workspace_id, term LIMIT $1`, limit,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("listing the champion lists that are due: %w", err))
	}
	lists, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ChampionList])
	return lists, postgres.Classify(err)
}

// RefreshChampionList fills or shortens a champion list, or drops the list of a term that is no
// longer frequent enough. It reads the postings of the term concurrently with writers, and blocks
// writers only while it writes the list.
func (db *Store) RefreshChampionList(ctx context.Context, list ChampionList) error {
	f := championFill{db: db, list: list}
	err := db.root.InReadTx(ctx, func(tx pgx.Tx) error { return f.read(ctx, tx) })
	if err == nil && f.found {
		err = db.root.InBulkTx(ctx, func(tx pgx.Tx) error { return f.write(ctx, tx) })
	}
	if err != nil {
		return postgres.Classify(fmt.Errorf("refreshing a champion list: %w", err))
	}
	return nil
}

// championFill is the refresh of a champion list, with its current and its new state.
type championFill struct {
	db    *Store
	list  ChampionList
	found bool
	cut   bool // shorten the list: all other postings have a lower impact
	drop  bool // the term has few enough nodes for all postings to be read

	target         int64 // number of postings after the refresh
	revision       int64 // of the newest change that was read
	previous, next championList
	nodes          []uuid.UUID // of the postings with the highest impact
}

const (
	// selectChampionFill reads the state of a list and the parameters of its refresh. A list is
	// shortened only while the average length is near the one that its impacts are computed with.
	selectChampionFill = `SELECT coalesce(t.nodes, 0) <= $3, k.kept,
			coalesce(l.floor IS NOT NULL AND l.size > k.kept AND a.average BETWEEN l.average * 0.8 AND l.average * 1.25, false),
			l.average, coalesce(l.floor, -1), coalesce(l.floor_node, '00000000-0000-0000-0000-000000000000'), a.average,
			(SELECT coalesce(max(revision), 0) FROM lexical_nodes WHERE workspace_id = $1)
		FROM lexical_champion_lists l LEFT JOIN lexical_terms t ON t.workspace_id = l.workspace_id AND t.term = l.term
		CROSS JOIN LATERAL (SELECT least(greatest(coalesce(t.nodes, 0) / $6::bigint, $4::bigint), $5::bigint) AS kept) k
		CROSS JOIN LATERAL (SELECT greatest(1, coalesce((SELECT length / nullif(nodes, 0) FROM lexical_workspaces w
		WHERE w.workspace_id = $1), 1)) AS average) a
		WHERE l.workspace_id = $1 AND l.term = $2`
	// selectHeaviest selects the postings of a table with the highest impacts.
	selectHeaviest = `SELECT p.node_id, ` + championImpact + ` AS impact FROM (SELECT $3::bigint AS average OFFSET 0) l
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM %s WHERE workspace_id = $1 AND term = $2 OFFSET 0) p
		ORDER BY impact DESC, p.node_id LIMIT $4`
)

// read reads the current list and computes the new one.
func (f *championFill) read(ctx context.Context, tx pgx.Tx) error {
	*f = championFill{db: f.db, list: f.list}
	limits := f.db.limits
	err := tx.QueryRow(ctx, selectChampionFill, f.list.Workspace, f.list.Term,
		limits.postings, limits.minChampions, limits.maxChampions, championsShare,
	).Scan(
		&f.drop, &f.target, &f.cut, &f.previous.average, &f.previous.floor, &f.previous.node, &f.next.average, &f.revision,
	)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // the list was erased with its workspace
	}
	if err != nil {
		return fmt.Errorf("reading a champion list: %w", err)
	}
	f.found = true
	if f.drop {
		return nil
	}
	table := "lexical_postings"
	if f.cut {
		table, f.next.average = "lexical_champions", f.previous.average
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(selectHeaviest, table), f.list.Workspace, f.list.Term, f.next.average, f.target)
	if err != nil {
		return fmt.Errorf("reading the heaviest postings: %w", err)
	}
	f.next.floor = -1 // without postings, every posting belongs to the list
	var node uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&node, &f.next.floor}, func() error {
		f.nodes, f.next.node = append(f.nodes, node), node
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the heaviest postings: %w", err)
	}
	return nil
}

const (
	deleteChampionList = `DELETE FROM lexical_champions WHERE workspace_id = $1 AND term = $2`
	dropChampionList   = `DELETE FROM lexical_champion_lists WHERE workspace_id = $1 AND term = $2`
	// fillChampionList adds the current postings of the nodes that were read, and of those changed
	// since, as far as they belong to the list.
	fillChampionList = `INSERT INTO lexical_champions (workspace_id, term, node_id, count, length)
		SELECT $1, $2, p.node_id, p.count, p.length
		FROM (SELECT id FROM unnest($3::uuid[]) AS id UNION SELECT node_id FROM lexical_nodes WHERE workspace_id = $1
		AND revision > $4) n
		CROSS JOIN (SELECT $5::bigint AS average, $6::bigint AS floor, $7::uuid AS node) l
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings WHERE workspace_id = $1 AND term = $2
		AND node_id = n.id OFFSET 0) p
		WHERE ` + championImpact + ` > l.floor OR ` + championImpact + ` = l.floor AND p.node_id <= l.node`
	// raiseFloor raises the floor of a list that was not changed since it was read.
	// shortenChampionList removes the postings below the floor.
	raiseFloor = `UPDATE lexical_champion_lists SET floor = $4, floor_node = $5, kept = $8
		WHERE workspace_id = $1 AND term = $2 AND average = $3 AND floor = $6 AND floor_node = $7`
	shortenChampionList = `WITH cut AS (DELETE FROM lexical_champions p USING (SELECT $3::bigint AS average,
		$4::bigint AS floor, $5::uuid AS node) l
			WHERE p.workspace_id = $1 AND p.term = $2
			AND (` + championImpact + ` < l.floor OR ` + championImpact + ` = l.floor AND p.node_id > l.node) RETURNING 1)
		UPDATE lexical_champion_lists SET size = size - c.rows, due = size - c.rows NOT BETWEEN kept / 2 AND kept * 5 / 4
		FROM (SELECT count(*) AS rows FROM cut) c WHERE workspace_id = $1 AND term = $2`
	updateChampionList = `UPDATE lexical_champion_lists SET average = $3, floor = $4, floor_node = $5, size = $6::bigint,
		kept = $7::bigint,
			due = $6 NOT BETWEEN $7 / 2 AND $7 * 5 / 4
		WHERE workspace_id = $1 AND term = $2`
)

// write writes the list from what was read and what changed since.
func (f *championFill) write(ctx context.Context, tx pgx.Tx) error {
	p := f.db.newBatch(tx)
	if err := p.lock(ctx, []uuid.UUID{f.list.Workspace}); err != nil || p.deleted[f.list.Workspace] {
		return err
	}
	if f.cut {
		return f.shorten(ctx, tx)
	}
	if _, err := tx.Exec(ctx, deleteChampionList, f.list.Workspace, f.list.Term); err != nil {
		return fmt.Errorf("emptying a champion list: %w", err)
	}
	if f.drop {
		_, err := tx.Exec(ctx, dropChampionList, f.list.Workspace, f.list.Term)
		return err
	}
	tag, err := tx.Exec(
		ctx, fillChampionList, f.list.Workspace, f.list.Term, f.nodes, f.revision, f.next.average, f.next.floor, f.next.node,
	)
	if err != nil {
		return fmt.Errorf("filling a champion list: %w", err)
	}
	_, err = tx.Exec(
		ctx, updateChampionList, f.list.Workspace, f.list.Term, f.next.average, f.next.floor, f.next.node, tag.RowsAffected(),
		f.target,
	)
	if err != nil {
		return fmt.Errorf("noting a champion list: %w", err)
	}
	return nil
}

// shorten removes the postings with the lowest impacts. A list that was changed since it was read
// stays due.
func (f *championFill) shorten(ctx context.Context, tx pgx.Tx) error {
	tag, err := tx.Exec(
		ctx, raiseFloor, f.list.Workspace, f.list.Term, f.next.average, f.next.floor, f.next.node, f.previous.floor,
		f.previous.node, f.target,
	)
	if err == nil && tag.RowsAffected() > 0 {
		_, err = tx.Exec(ctx, shortenChampionList, f.list.Workspace, f.list.Term, f.next.average, f.next.floor, f.next.node)
	}
	if err != nil {
		return fmt.Errorf("cutting a champion list back: %w", err)
	}
	return nil
}
