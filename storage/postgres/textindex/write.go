package textindex

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Bounds of a transaction that writes what nodes are found by: a portion ends with
// the node that brings it over.
const (
	lexicalNodes    = 512
	lexicalPostings = 50_000
)

// LexicalWork is what of a workspace may have changed.
type LexicalWork struct {
	Workspace uuid.UUID
	Nodes     []uuid.UUID
	// Sequences are changes all of whose nodes are among Nodes, or were in a work
	// before; ascending.
	Sequences []int64
}

// LexicalDone is what came of it.
type LexicalDone struct {
	Written, Removed, Same int // nodes
	Postings               int // written and removed
	Gaps                   int // workspaces that are filled again because changes are missing
}

func (d *LexicalDone) add(other LexicalDone) {
	d.Written, d.Removed, d.Same = d.Written+other.Written, d.Removed+other.Removed, d.Same+other.Same
	d.Postings, d.Gaps = d.Postings+other.Postings, d.Gaps+other.Gaps
}

// ApplyLexical makes the text lane agree with nodes as they are now, in as many
// transactions as it takes, and notes in the last how far it is then. Of each
// workspace only one writes at a time, from before it reads a node until its
// transaction ends: so no older text comes after a newer one. Doing anything twice
// changes nothing.
func (db *Store) ApplyLexical(ctx context.Context, work []LexicalWork) (LexicalDone, error) {
	var all postgres.IDList
	seen := map[NodeRef]bool{}
	for _, w := range work {
		all.Add(w.Workspace, w.Nodes, func(id uuid.UUID) bool {
			again := seen[NodeRef{w.Workspace, id}]
			seen[NodeRef{w.Workspace, id}] = true
			return again
		})
	}
	var done LexicalDone
	for first := true; first || len(all.IDs) > 0; first = false {
		var part LexicalDone
		var taken int
		err := db.root.InBulkTx(ctx, func(tx pgx.Tx) (err error) {
			p := db.newPortion(tx)
			last := len(all.IDs) <= lexicalNodes
			of := postgres.IDList{
				Workspaces: all.Workspaces[:min(len(all.IDs), lexicalNodes)], IDs: all.IDs[:min(len(all.IDs), lexicalNodes)],
			}
			if err = p.lock(ctx, locksOf(of, work, last)); err != nil {
				return err
			}
			if taken, err = p.apply(ctx, of); err == nil && taken == len(all.IDs) {
				err = p.note(ctx, work)
			}
			part = p.done
			return err
		})
		if err != nil {
			return done, postgres.Classify(fmt.Errorf("writing what nodes are found by: %w", err))
		}
		done.add(part)
		all.Workspaces, all.IDs = all.Workspaces[taken:], all.IDs[taken:]
	}
	return done, nil
}

// locksOf are the workspaces that a portion writes to.
func locksOf(of postgres.IDList, work []LexicalWork, last bool) []uuid.UUID {
	var ids []uuid.UUID
	for _, w := range of.Workspaces {
		ids = append(ids, w.Bytes)
	}
	if last {
		for _, w := range work {
			ids = append(ids, w.Workspace)
		}
	}
	return ids
}

// lexicalPortion is what one transaction writes.
type lexicalPortion struct {
	tx     pgx.Tx
	bounds searchBounds
	gone   map[uuid.UUID]bool // workspaces that are deleted, or unknown
	lists  map[lexicalTerm]championList
	done   LexicalDone

	nodes    lexicalRows
	removed  postgres.IDList
	postings lexicalPostingRows
	dropped  lexicalPostingRows
	terms    map[lexicalTerm]int64 // by how much the nodes of a term change
	totals   map[uuid.UUID]*lexicalTotals
}

type lexicalTerm struct {
	workspace uuid.UUID
	text      string
}

type lexicalTotals struct{ nodes, length int64 }

func (db *Store) newPortion(tx pgx.Tx) *lexicalPortion {
	return &lexicalPortion{
		tx: tx, bounds: db.search,
		gone: map[uuid.UUID]bool{}, lists: map[lexicalTerm]championList{}, terms: map[lexicalTerm]int64{},
		totals: map[uuid.UUID]*lexicalTotals{},
	}
}

// LockLexical is the statement that makes its transaction the only one that writes to
// the text lane of the workspaces $1; in one order, so that none waits for another in
// a circle. The transaction says that it keeps champion lists, too: what others write,
// those of versions that know of none, sets the lists aside.
const LockLexical = `SELECT set_config('livegraph.champions', 'kept', true),
	pg_advisory_xact_lock(hashtextextended('livegraph.lexical.' || w::text, 0))
	FROM (SELECT DISTINCT w FROM unnest($1::uuid[]) AS w ORDER BY w) AS workspaces`

const selectGone = `SELECT t.id FROM unnest($1::uuid[]) AS t (id)
	WHERE NOT EXISTS (SELECT FROM workspaces w WHERE w.id = t.id AND w.deleted_at IS NULL)`

// lock waits until nobody else writes to the workspaces, and finds out which are gone
// and which champion lists the others have.
// One that is closed after this is cleared by anyone who deletes it, who waits for us.
func (p *lexicalPortion) lock(ctx context.Context, workspaces []uuid.UUID) error {
	if _, err := p.tx.Exec(ctx, LockLexical, workspaces); err != nil {
		return fmt.Errorf("waiting for other writers: %w", err)
	}
	batch := &pgx.Batch{}
	batch.Queue(selectGone, workspaces).Query(func(rows pgx.Rows) error {
		var id uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			p.gone[id] = true
			return nil
		})
		return err
	})
	p.queueLists(batch, workspaces)
	if err := p.tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("reading which workspaces stand, and champion lists: %w", err)
	}
	return nil
}

// apply makes the lane agree with the first of the nodes, and says with how many.
func (p *lexicalPortion) apply(ctx context.Context, of postgres.IDList) (taken int, err error) {
	read, err := p.read(ctx, of)
	if err != nil {
		return 0, err
	}
	for i := range read {
		if p.done.Postings >= lexicalPostings {
			break
		}
		taken++
		p.take(&read[i])
	}
	return taken, p.write(ctx)
}

// take decides what is to be written of a node.
func (p *lexicalPortion) take(n *lexicalNode) {
	if p.gone[n.workspace] {
		return
	}
	if !n.stands && !n.known || n.stands && n.known && slices.Equal(n.digest, n.stored) {
		p.done.Same++
		return
	}
	var now lexical.Terms
	if n.stands {
		now = lexical.Analyse(n.document())
		p.done.Written++
	} else {
		p.done.Removed++
	}
	before := make(map[string]bool, len(n.terms))
	for _, t := range n.terms {
		before[t] = true
	}
	for _, t := range now.List {
		again := before[t.Text]
		if !again {
			p.terms[lexicalTerm{n.workspace, t.Text}]++
		}
		delete(before, t.Text)
		p.postings.add(n, t, now.Length, again)
	}
	for t := range before {
		p.terms[lexicalTerm{n.workspace, t}]--
		p.dropped.add(n, lexical.Term{Text: t}, 0, true)
	}
	p.done.Postings += len(now.List) + len(before)
	p.count(n, now)
}

// count notes what changes of the node's own row and of its workspace's totals.
func (p *lexicalPortion) count(n *lexicalNode, now lexical.Terms) {
	total := p.totals[n.workspace]
	if total == nil {
		total = &lexicalTotals{}
		p.totals[n.workspace] = total
	}
	if n.known {
		total.nodes--
		total.length -= n.length
	}
	if n.stands {
		total.nodes++
		total.length += int64(now.Length)
		p.nodes.add(n, now)
	} else {
		p.removed.Add(n.workspace, []uuid.UUID{n.id}, nil)
	}
}
