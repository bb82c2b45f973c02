package graphstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Group describes one transaction of the commands consumer: consecutive records of their
// partitions, and what their commands are known to need, so that it is read together. What
// is not listed is read on demand.
type Group struct {
	TopicID    [16]byte
	Owner      uuid.UUID // see ClaimCommands; nil: the partitions are not claimed
	Offsets    []Offset  // none: Tx.MoveFence moves the fence
	Workspaces []Needs   // each workspace once
	// CascadeEdges is the maximum number of edges of a node that a command deletes or
	// restores. If the node has more, the command fails with ErrManyEdges. It is the maximum
	// number of nodes in ErrManyNodes, too. 0: no limit.
	CascadeEdges int
}

// ErrManyEdges is the error of a command on a node with more edges than Group.CascadeEdges.
// Such a command takes longer than the other commands of a group should wait.
var ErrManyEdges = errors.New("the node has very many edges")

// ErrManyNodes is the error of an upsert whose key is a property that was no key before, in a
// workspace with more nodes than Group.CascadeEdges: all of them are read.
var ErrManyNodes = errors.New("the workspace has very many nodes")

// Offset is the range of a partition's offsets that a group decides: the group moves the
// fence from From to To, exclusive. command_offsets contains From unless another process
// decides the partition.
type Offset struct {
	Partition int32
	From, To  int64
	// Held reports that records after To are decided, too, and the one at To is not.
	Held bool
}

// Needs lists what the commands of a group read in one workspace.
type Needs struct {
	Workspace uuid.UUID
	Records   []uuid.UUID       // commands and batches that may have an outcome already
	Nodes     []uuid.UUID       // nodes that the commands name
	Edges     []uuid.UUID       // edges that the commands name
	Adjacency []uuid.UUID       // nodes whose edges are needed, because the node is deleted or restored
	Keys      []graph.NodeKey   // keys of nodes that the commands name
	Pairs     []Pair            // edges that upserts may change
	Actors    []uuid.UUID       // actors whose stacks are needed
	Stacks    *RememberedStacks // cached stacks; nil: none
	// Reversals counts the UNDO and REDO commands without a named target, by the owner of
	// the stack. Their targets are read before the commands are decided.
	Reversals map[uuid.UUID]Reversals
}

// Pair names the edges of a type from one node to another.
type Pair struct {
	Source, Target graph.NodeRef
	RelationType   string
}

// Reversals is the number of UNDO and of REDO commands.
type Reversals struct{ Undos, Redos int }

// RememberedStacks are the undo and redo stacks of a workspace as of a sequence, by actor.
// The key uuid.Nil has the stacks of the workspace itself. The value is not modified after it
// is passed to another function.
type RememberedStacks struct {
	Head   graph.Sequence
	Actors map[uuid.UUID]graph.Stacks
}

// StaleOffsets is the error of a group whose partitions are not at the group's first offset:
// another process decides them, or a transaction was committed whose response was lost.
// Nothing was changed.
type StaleOffsets struct {
	Next  map[int32]int64 // current offsets of the group's partitions; those without a row are missing
	Owned bool            // whether all of them are still claimed by the group's owner
}

// Error returns a message with the current offsets.
func (e *StaleOffsets) Error() string {
	return fmt.Sprintf("the partitions of the commands are at other offsets: %v", e.Next)
}

// Limits of a group's transaction.
const (
	// graphStatementTimeout limits each statement. longStatementTimeout limits the statements
	// of a group that moves the fence only at its end and so blocks no other group: the
	// deletion of a node with a million edges can be one statement.
	graphStatementTimeout = 2 * time.Minute
	longStatementTimeout  = 15 * time.Minute
	// defaultMemoryEdgeLimit is the maximum number of edges of a node that are loaded into
	// memory. The edges of a node with more are changed by statements in the database.
	defaultMemoryEdgeLimit = 64
)

// Tx is the transaction in which a group is decided. It locks the rows of the fence and of
// the workspaces' heads, so that no other transaction decides commands there. It is used by
// one goroutine, and ends with Commit or Rollback.
type Tx struct {
	ctx             context.Context //nolint:containedctx // that of the transaction, as in sql.Tx
	conn            *graphConn
	memoryEdgeLimit int // see defaultMemoryEdgeLimit
	maxCascadeEdges int // see Group.CascadeEdges
	states          map[uuid.UUID]*State
	order           []*State
	outcomes        []graphOutcome
	replaced        postgres.IDList // stored outcomes that are deleted on commit
	outcomeByID     map[graphID][]byte
}

// graphID is the id of something of a workspace.
type graphID struct{ workspace, id uuid.UUID }

type graphOutcome struct {
	graphID
	actor   uuid.UUID
	encoded []byte
}

// BeginGraph begins the transaction of a group: it moves the fence, locks the workspaces'
// heads and reads the listed needs. The error is a *StaleOffsets if the fence is not at the
// group's first offset.
func (db *Store) BeginGraph(ctx context.Context, g Group) (*Tx, error) {
	return db.beginGraph(ctx, g, defaultMemoryEdgeLimit)
}

func (db *Store) beginGraph(ctx context.Context, g Group, memoryEdgeLimit int) (*Tx, error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("beginning a group: %w", err))
	}
	tx := &Tx{
		ctx: ctx, conn: &graphConn{Conn: conn}, memoryEdgeLimit: memoryEdgeLimit, maxCascadeEdges: g.CascadeEdges,
		states: make(map[uuid.UUID]*State, len(g.Workspaces)), outcomeByID: map[graphID][]byte{},
	}
	if err := tx.begin(g); err != nil {
		tx.Rollback()
		return nil, postgres.Classify(err)
	}
	return tx, nil
}

const moveFence = `UPDATE command_offsets o SET next_offset = t.next, updated_at = now(),
	held_since = CASE WHEN t.held THEN COALESCE(o.held_since, now()) END
	FROM unnest($2::int[], $3::bigint[], $4::bigint[], $5::boolean[]) AS t (partition, was, next, held)
	WHERE o.topic_id = $1 AND o.partition = t.partition AND o.next_offset = t.was AND o.owner IS NOT DISTINCT
	FROM $6::uuid`

const lockHeads = `SELECT h.workspace_id, h.sequence, h.stacks_void, h.key_properties
	FROM graph_heads h JOIN workspaces w ON w.id = h.workspace_id
	WHERE h.workspace_id = ANY($1) AND w.deleted_at IS NULL ORDER BY h.workspace_id FOR UPDATE OF h`

const beginHeads = `INSERT INTO graph_heads (workspace_id)
	SELECT id FROM workspaces WHERE id = ANY($1) AND deleted_at IS NULL ORDER BY id ON CONFLICT DO NOTHING`

const selectOutcomes = `SELECT c.workspace_id, c.command_id, c.outcome
	FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, command_id)
	JOIN command_outcomes c ON c.workspace_id = t.workspace_id AND c.command_id = t.command_id`

// begin runs all statements in one round trip, unless a workspace has no head yet or the
// targets of UNDO and REDO are prefetched.
func (tx *Tx) begin(g Group) error {
	for i := range g.Workspaces {
		tx.states[g.Workspaces[i].Workspace] = newGraphState(tx, &g.Workspaces[i])
	}
	required := collectNeeds(tx, g.Workspaces)
	b := &pgx.Batch{}
	b.Queue("begin")
	timeout := graphStatementTimeout
	if len(g.Offsets) == 0 {
		timeout = longStatementTimeout
	}
	tx.conn.queueSettings(b, required.rows(), fmt.Sprint(timeout.Milliseconds()))
	moved := int64(0)
	if len(g.Offsets) > 0 {
		b.Queue(moveFence, fenceArgs(g)...).Exec(func(tag postgres.CommandTag) error {
			moved = tag.RowsAffected()
			return nil
		})
	}
	heads := map[uuid.UUID]graphHead{}
	b.Queue(lockHeads, required.workspaces).Query(readHeads(heads))
	required.queue(b, tx)
	if err := tx.conn.send(tx.ctx, b); err != nil {
		return fmt.Errorf("beginning a group: %w", err)
	}
	if moved != int64(len(g.Offsets)) {
		return tx.stale(g)
	}
	required.markMissing(tx)
	if err := tx.assignHeads(g, heads); err != nil {
		return err
	}
	required.keys.useRead(required.readKeys)
	if err := tx.prefetch(g.Workspaces); err != nil {
		return err
	}
	return tx.prefetchPairs(g.Workspaces)
}

// graphHead is the newest sequence of a workspace's journal. Remembered undo stacks as of void
// or an earlier sequence are not valid. keyProperties are the properties that are in node_keys.
type graphHead struct {
	sequence, void graph.Sequence
	keyProperties  []string
}

func readHeads(heads map[uuid.UUID]graphHead) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var id uuid.UUID
		var head graphHead
		_, err := pgx.ForEachRow(rows, []any{&id, &head.sequence, &head.void, &head.keyProperties}, func() error {
			heads[id] = head
			return nil
		})
		return err
	}
}

func (tx *Tx) readOutcomes(rows pgx.Rows) error {
	var key graphID
	var encoded []byte
	_, err := pgx.ForEachRow(rows, []any{&key.workspace, &key.id, &encoded}, func() error {
		tx.outcomeByID[key] = encoded
		return nil
	})
	return err
}

// assignHeads sets the head of each state. It creates the head of a workspace that has none.
// The state of a workspace that is deleted or does not exist is removed, so that no command
// is decided there.
func (tx *Tx) assignHeads(g Group, heads map[uuid.UUID]graphHead) error {
	var missing []uuid.UUID
	for i := range g.Workspaces {
		if _, ok := heads[g.Workspaces[i].Workspace]; !ok {
			missing = append(missing, g.Workspaces[i].Workspace)
		}
	}
	if len(missing) > 0 {
		_, err := tx.conn.Exec(tx.ctx, beginHeads, missing)
		if err != nil {
			return fmt.Errorf("beginning the journals of workspaces: %w", err)
		}
		rows, err := tx.conn.Query(tx.ctx, lockHeads, missing)
		if err != nil {
			return fmt.Errorf("locking the heads of workspaces: %w", err)
		}
		if err := readHeads(heads)(rows); err != nil {
			return fmt.Errorf("locking the heads of workspaces: %w", err)
		}
	}
	for i := range g.Workspaces {
		id := g.Workspaces[i].Workspace
		head, ok := heads[id]
		if !ok {
			delete(tx.states, id)
			continue
		}
		state := tx.states[id]
		state.begin(head, g.Workspaces[i].Stacks)
		tx.order = append(tx.order, state)
	}
	return nil
}

// State returns the graph and journal of a workspace of the group, or nil if there is no such
// workspace.
func (tx *Tx) State(workspace uuid.UUID) *State { return tx.states[workspace] }

// Outcome returns the outcome of a command or a batch that is in Needs.Records or was passed
// to AddOutcome, or nil if it has none.
func (tx *Tx) Outcome(workspace, id uuid.UUID) []byte {
	return tx.outcomeByID[graphID{workspace, id}]
}

// AddOutcome sets the outcome of a command or a batch and replaces an earlier one. The
// workspace must exist.
func (tx *Tx) AddOutcome(workspace, id, actor uuid.UUID, encoded []byte) {
	key := graphID{workspace, id}
	if tx.outcomeByID[key] != nil {
		tx.replaced.Workspaces = append(tx.replaced.Workspaces, postgres.UUID(workspace))
		tx.replaced.IDs = append(tx.replaced.IDs, postgres.UUID(id))
		tx.outcomes = slices.DeleteFunc(tx.outcomes, func(o graphOutcome) bool { return o.graphID == key })
	}
	tx.outcomeByID[key] = encoded
	tx.outcomes = append(tx.outcomes, graphOutcome{key, actor, encoded})
}

// WriteAhead starts to write the changes so far in the background, while further commands are
// decided. It is called between two records.
func (tx *Tx) WriteAhead() error {
	b := &pgx.Batch{}
	var rowErr error
	tx.queueRows(b, &rowErr)
	if err := tx.queueChanges(b); err != nil {
		return err
	}
	if b.Len() == 0 {
		return nil
	}
	return tx.conn.sendLater(tx.ctx, b, func() error { return rowErr })
}

// Failed waits for the writes that WriteAhead started and returns their error.
func (tx *Tx) Failed() error { return postgres.Classify(tx.conn.waitPending()) }

// Commit writes all changes that are not written yet, and commits. If the response to the
// commit is lost, the group may be committed although Commit returns an error. A retry then
// fails with StaleOffsets.
func (tx *Tx) Commit() error {
	defer tx.release()
	b := &pgx.Batch{}
	var rowErr error
	tx.queueRows(b, &rowErr)
	if err := tx.queueChanges(b); err != nil {
		return err
	}
	tx.queueEntries(b)
	tx.queueOutcomes(b)
	tx.queueHeads(b)
	committed := false
	b.Queue("commit").Exec(func(tag postgres.CommandTag) error {
		committed = tag.String() == "COMMIT"
		return rowErr
	})
	if err := tx.conn.send(tx.ctx, b); err != nil {
		return postgres.Classify(fmt.Errorf("committing a group: %w", err))
	}
	if !committed {
		return fmt.Errorf("committing a group: the server rolled it back")
	}
	return nil
}

// Rollback rolls the transaction back. After Commit it does nothing.
func (tx *Tx) Rollback() { tx.release() }

// rollbackTimeout limits the rollback of a transaction.
const rollbackTimeout = 3 * time.Second

func (tx *Tx) release() {
	if tx.conn == nil {
		return
	}
	_ = tx.conn.waitPending() // the transaction ends in any case
	if tx.conn.Conn.Conn().PgConn().TxStatus() != 'I' && !tx.conn.Conn.Conn().IsClosed() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tx.ctx), rollbackTimeout)
		defer cancel()
		_, _ = tx.conn.Exec(ctx, "rollback") // a connection on which this fails is not reused
	}
	tx.conn.Release()
	tx.conn = nil
}
