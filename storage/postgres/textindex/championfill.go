package textindex

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// ChampionList names the champion list of a term.
type ChampionList struct {
	Workspace uuid.UUID
	Term      string
}

// DueChampionLists lists champion lists that are to be filled or cut back, at most limit.
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

// RefreshChampionList fills a champion list, or cuts it back, or drops the list of a term
// that is not so frequent any more. All postings of the term are read beside writers,
// who are kept waiting for as long as a list takes to be written.
func (db *Store) RefreshChampionList(ctx context.Context, list ChampionList) error {
	f := championFill{db: db, list: list}
	err := db.root.Reading(ctx, func(tx pgx.Tx) error { return f.read(ctx, tx) })
	if err == nil && f.there {
		err = db.root.InBulkTx(ctx, func(tx pgx.Tx) error { return f.write(ctx, tx) })
	}
	if err != nil {
		return postgres.Classify(fmt.Errorf("refreshing a champion list: %w", err))
	}
	return nil
}

// championFill is a list under way: as it is and as it is to be.
type championFill struct {
	db    *Store
	list  ChampionList
	there bool
	cut   bool // back to what is in it: the others weigh less
	drop  bool // the term has few enough nodes to be read whole

	kept     int64 // how many postings it is to have
	revision int64 // the newest change that was seen
	was, now championList
	nodes    []uuid.UUID // of the heaviest postings
}

const (
	// selectChampionFill reads what a list is to be made of. A list is cut back only while
	// the average length is near the one that its impacts are reckoned with.
	selectChampionFill = `SELECT coalesce(t.nodes, 0) <= $3, k.kept,
			coalesce(l.floor IS NOT NULL AND l.size > k.kept AND a.average BETWEEN l.average * 0.8 AND l.average * 1.25, false),
			l.average, coalesce(l.floor, -1), coalesce(l.floor_node, '00000000-0000-0000-0000-000000000000'), a.average,
			(SELECT coalesce(max(revision), 0) FROM lexical_nodes WHERE workspace_id = $1)
		FROM lexical_champion_lists l LEFT JOIN lexical_terms t ON t.workspace_id = l.workspace_id AND t.term = l.term
		CROSS JOIN LATERAL (SELECT least(greatest(coalesce(t.nodes, 0) / $6::bigint, $4::bigint), $5::bigint) AS kept) k
		CROSS JOIN LATERAL (SELECT greatest(1, coalesce((SELECT length / nullif(nodes, 0) FROM lexical_workspaces w
		WHERE w.workspace_id = $1), 1)) AS average) a
		WHERE l.workspace_id = $1 AND l.term = $2`
	// selectHeaviest gives the heaviest postings of a table, with their impacts.
	selectHeaviest = `SELECT p.node_id, ` + championImpact + ` AS impact FROM (SELECT $3::bigint AS average OFFSET 0) l
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM %s WHERE workspace_id = $1 AND term = $2 OFFSET 0) p
		ORDER BY impact DESC, p.node_id LIMIT $4`
)

// read finds out how the list is to be.
func (f *championFill) read(ctx context.Context, tx pgx.Tx) error {
	*f = championFill{db: f.db, list: f.list}
	bounds := f.db.search
	err := tx.QueryRow(ctx, selectChampionFill, f.list.Workspace, f.list.Term,
		bounds.postings, bounds.champions, bounds.championsMost,
		championsShare).Scan(&f.drop, &f.kept, &f.cut, &f.was.average, &f.was.floor, &f.was.node, &f.now.average, &f.revision)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // erased with its workspace
	}
	if err != nil {
		return fmt.Errorf("reading a champion list: %w", err)
	}
	f.there = true
	if f.drop {
		return nil
	}
	table := "lexical_postings"
	if f.cut {
		table, f.now.average = "lexical_champions", f.was.average
	}
	rows, err := tx.Query(ctx, fmt.Sprintf(selectHeaviest, table), f.list.Workspace, f.list.Term, f.now.average, f.kept)
	if err != nil {
		return fmt.Errorf("reading the heaviest postings: %w", err)
	}
	f.now.floor = -1 // everything is in the list
	var node uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&node, &f.now.floor}, func() error {
		f.nodes, f.now.node = append(f.nodes, node), node
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
	// fillChampionList adds the postings of nodes, and of those that changed since the
	// nodes were read, that are for the list; as they are now.
	fillChampionList = `INSERT INTO lexical_champions (workspace_id, term, node_id, count, length)
		SELECT $1, $2, p.node_id, p.count, p.length
		FROM (SELECT id FROM unnest($3::uuid[]) AS id UNION SELECT node_id FROM lexical_nodes WHERE workspace_id = $1
		AND revision > $4) n
		CROSS JOIN (SELECT $5::bigint AS average, $6::bigint AS floor, $7::uuid AS node) l
		CROSS JOIN LATERAL (SELECT node_id, count, length FROM lexical_postings WHERE workspace_id = $1 AND term = $2
		AND node_id = n.id OFFSET 0) p
		WHERE ` + championImpact + ` > l.floor OR ` + championImpact + ` = l.floor AND p.node_id <= l.node`
	// raiseFloor raises the floor of a list that is as it was read, and cutChampionList
	// takes out what is below.
	raiseFloor = `UPDATE lexical_champion_lists SET floor = $4, floor_node = $5, kept = $8
		WHERE workspace_id = $1 AND term = $2 AND average = $3 AND floor = $6 AND floor_node = $7`
	cutChampionList = `WITH cut AS (DELETE FROM lexical_champions p USING (SELECT $3::bigint AS average,
		$4::bigint AS floor, $5::uuid AS node) l
			WHERE p.workspace_id = $1 AND p.term = $2
			AND (` + championImpact + ` < l.floor OR ` + championImpact + ` = l.floor AND p.node_id > l.node) RETURNING 1)
		UPDATE lexical_champion_lists SET size = size - c.rows, due = size - c.rows NOT BETWEEN kept / 2 AND kept * 5 / 4
		FROM (SELECT count(*) AS rows FROM cut) c WHERE workspace_id = $1 AND term = $2`
	noteChampionList = `UPDATE lexical_champion_lists SET average = $3, floor = $4, floor_node = $5, size = $6::bigint,
		kept = $7::bigint,
			due = $6 NOT BETWEEN $7 / 2 AND $7 * 5 / 4
		WHERE workspace_id = $1 AND term = $2`
)

// write writes the list: what was read, and what changed since.
func (f *championFill) write(ctx context.Context, tx pgx.Tx) error {
	p := f.db.newPortion(tx)
	if err := p.lock(ctx, []uuid.UUID{f.list.Workspace}); err != nil || p.gone[f.list.Workspace] {
		return err
	}
	if f.cut {
		return f.cutBack(ctx, tx)
	}
	if _, err := tx.Exec(ctx, deleteChampionList, f.list.Workspace, f.list.Term); err != nil {
		return fmt.Errorf("emptying a champion list: %w", err)
	}
	if f.drop {
		_, err := tx.Exec(ctx, dropChampionList, f.list.Workspace, f.list.Term)
		return err
	}
	tag, err := tx.Exec(
		ctx, fillChampionList, f.list.Workspace, f.list.Term, f.nodes, f.revision, f.now.average, f.now.floor, f.now.node,
	)
	if err != nil {
		return fmt.Errorf("filling a champion list: %w", err)
	}
	_, err = tx.Exec(
		ctx, noteChampionList, f.list.Workspace, f.list.Term, f.now.average, f.now.floor, f.now.node, tag.RowsAffected(),
		f.kept,
	)
	if err != nil {
		return fmt.Errorf("noting a champion list: %w", err)
	}
	return nil
}

// cutBack cuts the list back. One that is not as it was read any more stays due.
func (f *championFill) cutBack(ctx context.Context, tx pgx.Tx) error {
	tag, err := tx.Exec(
		ctx, raiseFloor, f.list.Workspace, f.list.Term, f.now.average, f.now.floor, f.now.node, f.was.floor, f.was.node,
		f.kept,
	)
	if err == nil && tag.RowsAffected() > 0 {
		_, err = tx.Exec(ctx, cutChampionList, f.list.Workspace, f.list.Term, f.now.average, f.now.floor, f.now.node)
	}
	if err != nil {
		return fmt.Errorf("cutting a champion list back: %w", err)
	}
	return nil
}
