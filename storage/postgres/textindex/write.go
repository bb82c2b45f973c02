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

// Limits of a transaction that writes to the text index. A batch ends after the node with which it
// reaches one of them.
const (
	maxBatchNodes    = 512
	maxBatchPostings = 50_000
)

// LexicalWork lists nodes of a workspace that may have changed.
type LexicalWork struct {
	Workspace uuid.UUID
	Nodes     []uuid.UUID
	// Sequences are changes all of whose nodes are in Nodes or in earlier work; ascending.
	Sequences []int64
}

// LexicalDone counts the changes of the text index.
type LexicalDone struct {
	Written, Removed, Same int // nodes
	Postings               int // postings written and removed
	Gaps                   int // workspaces whose index is rebuilt because changes are missing
}

func (d *LexicalDone) add(other LexicalDone) {
	d.Written, d.Removed, d.Same = d.Written+other.Written, d.Removed+other.Removed, d.Same+other.Same
	d.Postings, d.Gaps = d.Postings+other.Postings, d.Gaps+other.Gaps
}

// ApplyLexical updates the text index to the current state of nodes, in as many transactions as
// necessary, and records the progress in the last one. Only one transaction at a time writes to the
// index of a workspace. It takes the lock before it reads nodes, so an older text never overwrites a
// newer one. ApplyLexical is idempotent.
func (db *Store) ApplyLexical(ctx context.Context, work []LexicalWork) (LexicalDone, error) {
	var remaining postgres.IDList
	seen := map[NodeRef]bool{}
	for _, w := range work {
		remaining.Add(w.Workspace, w.Nodes, func(id uuid.UUID) bool {
			duplicate := seen[NodeRef{w.Workspace, id}]
			seen[NodeRef{w.Workspace, id}] = true
			return duplicate
		})
	}
	var done LexicalDone
	for first := true; first || len(remaining.IDs) > 0; first = false {
		var batchDone LexicalDone
		var applied int
		err := db.root.InBulkTx(ctx, func(tx pgx.Tx) (err error) {
			p := db.newBatch(tx)
			last := len(remaining.IDs) <= maxBatchNodes
			nodes := postgres.IDList{
				Workspaces: remaining.Workspaces[:min(len(remaining.IDs), maxBatchNodes)],
				IDs:        remaining.IDs[:min(len(remaining.IDs), maxBatchNodes)],
			}
			if err = p.lock(ctx, batchWorkspaces(nodes, work, last)); err != nil {
				return err
			}
			if applied, err = p.apply(ctx, nodes); err == nil && applied == len(remaining.IDs) {
				err = p.recordProgress(ctx, work)
			}
			batchDone = p.done
			return err
		})
		if err != nil {
			return done, postgres.Classify(fmt.Errorf("writing what nodes are found by: %w", err))
		}
		done.add(batchDone)
		remaining.Workspaces, remaining.IDs = remaining.Workspaces[applied:], remaining.IDs[applied:]
	}
	return done, nil
}

// batchWorkspaces returns the workspaces that a batch writes to.
func batchWorkspaces(nodes postgres.IDList, work []LexicalWork, last bool) []uuid.UUID {
	var ids []uuid.UUID
	for _, w := range nodes.Workspaces {
		ids = append(ids, w.Bytes)
	}
	if last {
		for _, w := range work {
			ids = append(ids, w.Workspace)
		}
	}
	return ids
}

// lexicalBatch has the changes that one transaction writes.
type lexicalBatch struct {
	tx      pgx.Tx
	limits  searchLimits
	deleted map[uuid.UUID]bool // workspaces that are deleted or do not exist
	lists   map[lexicalTerm]championList
	done    LexicalDone

	nodes    lexicalRows
	removed  postgres.IDList
	postings lexicalPostingRows
	dropped  lexicalPostingRows
	terms    map[lexicalTerm]int64 // changes of the number of nodes of terms
	totals   map[uuid.UUID]*lexicalTotals
	links    linkRows
}

type lexicalTerm struct {
	workspace uuid.UUID
	text      string
}

type lexicalTotals struct{ nodes, length int64 }

func (db *Store) newBatch(tx pgx.Tx) *lexicalBatch {
	return &lexicalBatch{
		tx: tx, limits: db.limits,
		deleted: map[uuid.UUID]bool{}, lists: map[lexicalTerm]championList{}, terms: map[lexicalTerm]int64{},
		totals: map[uuid.UUID]*lexicalTotals{},
	}
}

// LockLexical is the statement that locks the text indexes of the workspaces $1 for writing, until the
// transaction ends. It locks in one order, to avoid deadlocks. It also declares that the transaction
// updates champion lists: writes without that, by older versions without champion lists, invalidate
// the lists.
const LockLexical = `SELECT set_config('livegraph.champions', 'kept', true),
	pg_advisory_xact_lock(hashtextextended('livegraph.lexical.' || w::text, 0))
	FROM (SELECT DISTINCT w FROM unnest($1::uuid[]) AS w ORDER BY w) AS workspaces`

const selectDeleted = `SELECT t.id FROM unnest($1::uuid[]) AS t (id)
	WHERE NOT EXISTS (SELECT FROM workspaces w WHERE w.id = t.id AND w.deleted_at IS NULL)`

// lock locks the text indexes of workspaces for writing, and reads which workspaces are deleted and the
// champion lists of the others. The index of a workspace that is deleted after this is erased by the
// deletion, which waits for this transaction.
func (p *lexicalBatch) lock(ctx context.Context, workspaces []uuid.UUID) error {
	if _, err := p.tx.Exec(ctx, LockLexical, workspaces); err != nil {
		return fmt.Errorf("waiting for other writers: %w", err)
	}
	batch := &pgx.Batch{}
	batch.Queue(selectDeleted, workspaces).Query(func(rows pgx.Rows) error {
		var id uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			p.deleted[id] = true
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

// apply updates the text index to the first of the nodes, and returns the number of nodes applied.
func (p *lexicalBatch) apply(ctx context.Context, nodes postgres.IDList) (applied int, err error) {
	read, err := p.read(ctx, nodes)
	if err != nil {
		return 0, err
	}
	if err := p.readLinkNames(ctx, nodes); err != nil {
		return 0, err
	}
	for i := range read {
		if p.done.Postings >= maxBatchPostings {
			break
		}
		applied++
		p.stage(&read[i])
	}
	return applied, p.write(ctx)
}

// stage adds the changes of a node to the batch.
func (p *lexicalBatch) stage(n *lexicalNode) {
	if p.deleted[n.workspace] {
		return
	}
	if !n.live && !n.indexed || n.live && n.indexed && slices.Equal(n.digest, n.storedDigest) {
		p.done.Same++
		return
	}
	p.stageLinks(n)
	var now lexical.Terms
	if n.live {
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
		hadTerm := before[t.Text]
		if !hadTerm {
			p.terms[lexicalTerm{n.workspace, t.Text}]++
		}
		delete(before, t.Text)
		p.postings.add(n, t, now.Length, hadTerm)
	}
	for t := range before {
		p.terms[lexicalTerm{n.workspace, t}]--
		p.dropped.add(n, lexical.Term{Text: t}, 0, true)
	}
	p.done.Postings += len(now.List) + len(before)
	p.updateTotals(n, now)
}

// updateTotals adds the changes of the node's row and of the totals of its workspace to the batch.
func (p *lexicalBatch) updateTotals(n *lexicalNode, now lexical.Terms) {
	total := p.totals[n.workspace]
	if total == nil {
		total = &lexicalTotals{}
		p.totals[n.workspace] = total
	}
	if n.indexed {
		total.nodes--
		total.length -= n.length
	}
	if n.live {
		total.nodes++
		total.length += int64(now.Length)
		p.nodes.add(n, now)
	} else {
		p.removed.Add(n.workspace, []uuid.UUID{n.id}, nil)
	}
}
