package textindex_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
	"github.com/livegraph/livegraph/test/pgtest"
)

func openForWriters(t *testing.T) *pgtest.DB {
	t.Helper()
	db, err := pgtest.Connect(t.Context(), pgtest.Migrated(t), 16)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

func TestAWorkspaceOfAnIndexHasOneWriterAtATime(t *testing.T) {
	db, index := openForWriters(t), uuid.New()
	workspaces := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	var writers [3]atomic.Int32
	var work sync.WaitGroup
	for i := range 12 {
		first, second := i%3, (i+1)%3
		write := func(context.Context, *textindex.IndexWriter) error {
			for _, n := range []int{first, second} {
				if writers[n].Add(1) != 1 {
					t.Errorf("workspace %d has two writers", n)
				}
			}
			time.Sleep(5 * time.Millisecond)
			writers[first].Add(-1)
			writers[second].Add(-1)
			return nil
		}
		work.Go(func() {
			for range 5 {
				ids := []uuid.UUID{workspaces[second], workspaces[first], workspaces[first]}
				if err := db.WriteIndex(t.Context(), index, ids, write); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	left, err := db.Strings(t.Context(), `SELECT name FROM leases`)
	require.NoError(t, err)
	require.Empty(t, left)
}

// takeOver makes another process the writer, as if this one had been suspended until its leases ran out.
func takeOver(t *testing.T, db *pgtest.DB) {
	t.Helper()
	require.NoError(t, db.Exec(
		t.Context(), `UPDATE leases SET holder = $1, until = now() + interval '1 minute'`, uuid.New(),
	))
}

func TestAWriterThatWasReplacedRecordsNothing(t *testing.T) {
	db, index, workspace := openForWriters(t), uuid.New(), uuid.New()
	ref := textindex.NodeRef{Workspace: workspace, Node: uuid.New()}
	nodes := []textindex.IndexedNode{{NodeRef: ref, EntityType: "object", TextHash: []byte{1}, Chunks: 1, Vectors: 1}}
	err := db.WriteIndex(
		t.Context(), index, []uuid.UUID{workspace}, func(ctx context.Context, w *textindex.IndexWriter) error {
			if err := w.Intend(ctx, nodes); err != nil {
				return err
			}
			takeOver(t, db)
			return w.Complete(ctx, textindex.IndexedBatch{Nodes: nodes})
		},
	)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	recorded, err := db.IndexedNodes(t.Context(), index, []textindex.NodeRef{ref})
	require.NoError(t, err)
	require.True(t, recorded[ref].Intent, "the contents of the index are unknown")
}

func TestTheWorkOfAWriterThatWasReplacedIsCancelled(t *testing.T) {
	db, index, workspace := openForWriters(t), uuid.New(), uuid.New()
	err := db.WriteIndex(
		t.Context(), index, []uuid.UUID{workspace}, func(ctx context.Context, _ *textindex.IndexWriter) error {
			takeOver(t, db)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Minute):
				return nil
			}
		},
	)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
}
