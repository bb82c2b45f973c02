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

// Group is what one transaction of the commands consumer is about: records
// that follow each other in their partitions, and what is known before of what
// their commands look at, so that it is read at once. What is missing is read when
// it is asked for.
type Group struct {
	TopicID    [16]byte
	Owner      uuid.UUID // see ClaimCommands; nil: nobody has claimed the partitions
	Offsets    []Offset  // none: Tx.MoveFence moves the fence
	Workspaces []Needs   // each workspace once
	// CascadeEdges is how many edges a node that a command deletes or brings back may
	// have; beyond, it fails with ErrManyEdges. 0: any number.
	CascadeEdges int
}

// ErrManyEdges says that a command is about a node with more edges than
// Group.CascadeEdges: it takes longer than the others of a group should wait.
var ErrManyEdges = errors.New("the node has very many edges")

// Offset says from which offset of a partition of the commands on the group's
// records are, and where they end: the fence. From is what command_offsets holds as
// long as nobody else decides the partition.
type Offset struct {
	Partition int32
	From, To  int64
	// Held says that records from To on are decided, too, and one at To is not.
	Held bool
}

// Needs is what the commands of a group look at in one workspace.
type Needs struct {
	Workspace uuid.UUID
	Records   []uuid.UUID       // commands and batches whose outcome may be there already
	Nodes     []uuid.UUID       // that are named
	Edges     []uuid.UUID       // that are named
	Centres   []uuid.UUID       // nodes whose edges matter, because they are deleted or brought back
	Actors    []uuid.UUID       // whose stacks are asked for
	Stacks    *RememberedStacks // as they were remembered; nil: not at all
	// Reversals are the UNDO and REDO about the newest of a stack, by whose it is: what
	// they are about is read before they are decided.
	Reversals map[uuid.UUID]Reversals
}

// Reversals is how many UNDO and how many REDO there are.
type Reversals struct{ Undos, Redos int }

// RememberedStacks are undo and redo stacks of a workspace, by actor, as of a sequence;
// uuid.Nil is the workspace's own. They are not changed once they are handed on.
type RememberedStacks struct {
	Head   graph.Sequence
	Actors map[uuid.UUID]graph.Stacks
}

// StaleOffsets says that a partition is not where the group begins: somebody else
// decides it, or a transaction was committed whose answer was lost. Nothing was
// changed.
type StaleOffsets struct {
	Next  map[int32]int64 // where the group's partitions are; a missing one is not known at all
	Owned bool            // all of them are still claimed by the group's owner
}

// Error names where the partitions are.
func (e *StaleOffsets) Error() string {
	return fmt.Sprintf("the partitions of the commands are at other offsets: %v", e.Next)
}

// Limits of a group's transaction.
const (
	// graphStatementTimeout is that of each statement, and longStatementTimeout that of a
	// group that moves the fence only at its end, and holds up nobody else: the deletion of a
	// node with a million edges is one statement.
	graphStatementTimeout = 2 * time.Minute
	longStatementTimeout  = 15 * time.Minute
	// centreEdges is up to how many edges of a node are taken into memory to decide
	// about them. Beyond, they stay in the database, which then does what is to be
	// done to them.
	centreEdges = 64
)

// Tx is the transaction in which a group is decided. It holds the rows of the
// fence and of the workspaces' heads, so that nobody else decides there. It belongs
// to one goroutine, and ends with Commit or Rollback.
type Tx struct {
	ctx      context.Context //nolint:containedctx // that of the transaction, as in sql.Tx
	conn     *graphConn
	edges    int // see centreEdges
	most     int // see Group.CascadeEdges
	states   map[uuid.UUID]*State
	order    []*State
	outcomes []graphOutcome
	replaced postgres.IDList // outcomes that are there and are not to stay
	known    map[graphID][]byte
}

// graphID is the id of something of a workspace.
type graphID struct{ workspace, id uuid.UUID }

type graphOutcome struct {
	graphID
	actor   uuid.UUID
	encoded []byte
}

// BeginGraph begins to decide a group: it moves the fence, locks the workspaces'
// heads and reads what the group is said to need. The error is a *StaleOffsets if
// the fence is not where the group begins.
func (db *Store) BeginGraph(ctx context.Context, g Group) (*Tx, error) {
	return db.beginGraph(ctx, g, centreEdges)
}

func (db *Store) beginGraph(ctx context.Context, g Group, edges int) (*Tx, error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("beginning a group: %w", err))
	}
	tx := &Tx{
		ctx: ctx, conn: &graphConn{Conn: conn}, edges: edges, most: g.CascadeEdges,
		states: make(map[uuid.UUID]*State, len(g.Workspaces)), known: map[graphID][]byte{},
	}
	if err := tx.begin(g); err != nil {
		tx.Rollback()
		return nil, postgres.Classify(err)
	}
	return tx, nil
}

const beginSettings = postgres.ByIndexes + `, set_config('statement_timeout', $1, true)`

const moveFence = `UPDATE command_offsets o SET next_offset = t.next, updated_at = now(),
	held_since = CASE WHEN t.held THEN COALESCE(o.held_since, now()) END
	FROM unnest($2::int[], $3::bigint[], $4::bigint[], $5::boolean[]) AS t (partition, was, next, held)
	WHERE o.topic_id = $1 AND o.partition = t.partition AND o.next_offset = t.was AND o.owner IS NOT DISTINCT
	FROM $6::uuid`

const lockHeads = `SELECT h.workspace_id, h.sequence, h.stacks_void FROM graph_heads h JOIN workspaces w
	ON w.id = h.workspace_id
	WHERE h.workspace_id = ANY($1) AND w.deleted_at IS NULL ORDER BY h.workspace_id FOR UPDATE OF h`

const beginHeads = `INSERT INTO graph_heads (workspace_id)
	SELECT id FROM workspaces WHERE id = ANY($1) AND deleted_at IS NULL ORDER BY id ON CONFLICT DO NOTHING`

const selectOutcomes = `SELECT c.workspace_id, c.command_id, c.outcome
	FROM unnest($1::uuid[], $2::uuid[]) AS t (workspace_id, command_id)
	JOIN command_outcomes c ON c.workspace_id = t.workspace_id AND c.command_id = t.command_id`

// begin does everything in one round trip, unless a workspace is new.
func (tx *Tx) begin(g Group) error {
	for i := range g.Workspaces {
		tx.states[g.Workspaces[i].Workspace] = newGraphState(tx, &g.Workspaces[i])
	}
	wanted := collectNeeds(g.Workspaces)
	b := &pgx.Batch{}
	b.Queue("begin")
	timeout := graphStatementTimeout
	if len(g.Offsets) == 0 {
		timeout = longStatementTimeout
	}
	b.Queue(beginSettings, fmt.Sprint(timeout.Milliseconds()))
	moved := int64(0)
	if len(g.Offsets) > 0 {
		b.Queue(moveFence, fenceArgs(g)...).Exec(func(tag postgres.CommandTag) error {
			moved = tag.RowsAffected()
			return nil
		})
	}
	heads := map[uuid.UUID]graphHead{}
	b.Queue(lockHeads, wanted.workspaces).Query(readHeads(heads))
	if len(wanted.records.IDs) > 0 {
		b.Queue(selectOutcomes, wanted.records.Workspaces, wanted.records.IDs).Query(tx.readOutcomes)
	}
	if len(wanted.nodes.IDs) > 0 {
		b.Queue(selectNodes, wanted.nodes.Workspaces, wanted.nodes.IDs).Query(tx.readNodes)
	}
	if len(wanted.edges.IDs) > 0 {
		b.Queue(selectEdges, wanted.edges.Workspaces, wanted.edges.IDs).Query(tx.readEdges)
	}
	if len(wanted.centres.IDs) > 0 {
		b.Queue(selectEdgesAt, wanted.centres.Workspaces, wanted.centres.IDs, tx.edges).Query(tx.readEdgesAt(wanted.centres))
	}
	if len(wanted.actors.IDs) > 0 {
		b.Queue(
			selectStacks, wanted.actors.Workspaces, wanted.actors.IDs, stacksRead,
		).Query(tx.readStacks(wanted.actors, stacksRead))
	}
	if err := tx.conn.send(tx.ctx, b); err != nil {
		return fmt.Errorf("beginning a group: %w", err)
	}
	if moved != int64(len(g.Offsets)) {
		return tx.stale(g)
	}
	wanted.fill(tx)
	return tx.settleHeads(g, heads)
}

// graphHead is how far a workspace's graph is. Undo stacks that are as of void are not
// worth anything.
type graphHead struct{ sequence, void graph.Sequence }

func readHeads(heads map[uuid.UUID]graphHead) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var id uuid.UUID
		var head graphHead
		_, err := pgx.ForEachRow(rows, []any{&id, &head.sequence, &head.void}, func() error {
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
		tx.known[key] = encoded
		return nil
	})
	return err
}

// settleHeads sets the head of each state. A workspace without one gets it; one that
// does not stand gets none, and nothing is decided there.
func (tx *Tx) settleHeads(g Group, heads map[uuid.UUID]graphHead) error {
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
	return tx.foresee(g.Workspaces)
}

// State returns the graph and journal of a workspace of the group; nil: there is no
// such workspace.
func (tx *Tx) State(workspace uuid.UUID) *State { return tx.states[workspace] }

// Outcome returns what came of a command or a batch of Group.Needs.Records, or of
// one that AddOutcome was given; nil: it is new.
func (tx *Tx) Outcome(workspace, id uuid.UUID) []byte {
	return tx.known[graphID{workspace, id}]
}

// AddOutcome keeps what came of a command or a batch, in place of what was known
// before. Its workspace stands.
func (tx *Tx) AddOutcome(workspace, id, actor uuid.UUID, encoded []byte) {
	key := graphID{workspace, id}
	if tx.known[key] != nil {
		tx.replaced.Workspaces = append(tx.replaced.Workspaces, postgres.UUID(workspace))
		tx.replaced.IDs = append(tx.replaced.IDs, postgres.UUID(id))
		tx.outcomes = slices.DeleteFunc(tx.outcomes, func(o graphOutcome) bool { return o.graphID == key })
	}
	tx.known[key] = encoded
	tx.outcomes = append(tx.outcomes, graphOutcome{key, actor, encoded})
}

// WriteAhead begins to write what was decided so far, while more is decided. It is
// for between two records.
func (tx *Tx) WriteAhead() error {
	b := &pgx.Batch{}
	var lost error
	tx.queueRows(b, &lost)
	if err := tx.queueChanges(b); err != nil {
		return err
	}
	if b.Len() == 0 {
		return nil
	}
	return tx.conn.sendLater(tx.ctx, b, func() error { return lost })
}

// Failed returns why something that was written ahead could not be. It waits for it.
func (tx *Tx) Failed() error { return postgres.Classify(tx.conn.settle()) }

// Commit writes everything that was decided, and commits. If the answer to the
// commit is lost, the group may be committed in spite of the error: a further try
// then finds StaleOffsets.
func (tx *Tx) Commit() error {
	defer tx.release()
	b := &pgx.Batch{}
	var lost error
	tx.queueRows(b, &lost)
	if err := tx.queueChanges(b); err != nil {
		return err
	}
	tx.queueEntries(b)
	tx.queueOutcomes(b)
	tx.queueHeads(b)
	committed := false
	b.Queue("commit").Exec(func(tag postgres.CommandTag) error {
		committed = tag.String() == "COMMIT"
		return lost
	})
	if err := tx.conn.send(tx.ctx, b); err != nil {
		return postgres.Classify(fmt.Errorf("committing a group: %w", err))
	}
	if !committed {
		return fmt.Errorf("committing a group: the server rolled it back")
	}
	return nil
}

// Rollback rolls everything back. After Commit it does nothing.
func (tx *Tx) Rollback() { tx.release() }

// rollbackTimeout bounds the farewell to a transaction.
const rollbackTimeout = 3 * time.Second

func (tx *Tx) release() {
	if tx.conn == nil {
		return
	}
	_ = tx.conn.settle() // a failure of it ends the transaction like any other
	if tx.conn.Conn.Conn().PgConn().TxStatus() != 'I' && !tx.conn.Conn.Conn().IsClosed() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tx.ctx), rollbackTimeout)
		defer cancel()
		_, _ = tx.conn.Exec(ctx, "rollback") // a connection on which that fails is not used again
	}
	tx.conn.Release()
	tx.conn = nil
}
