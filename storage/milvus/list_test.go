package milvus_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestEntriesOfAWorkspaceAreCountedAndListedByNode(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name := newName(t, db)
	require.NoError(t, db.CreateCollection(t.Context(), name, 2))
	one, other, empty := uuid.New(), uuid.New(), uuid.New()
	var entries []milvus.Entry
	for i := range 60 {
		e := entry(one, 1, float32(i))
		entries = append(entries, e)
		if i%3 == 0 {
			e.Chunk = 7
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b milvus.Entry) int { return bytes.Compare(a.Node[:], b.Node[:]) })
	require.NoError(t, db.Upsert(t.Context(), name, append(slices.Clone(entries), entry(other, 1, 0))))

	count := func(workspace uuid.UUID) int64 {
		n, err := db.CountWorkspace(t.Context(), name, workspace)
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, []int64{80, 1, 0}, []int64{count(one), count(other), count(empty)})
	list := func(after, upTo *uuid.UUID) []milvus.EntryID {
		ids, err := db.ListIDs(t.Context(), name, one, after, upTo)
		require.NoError(t, err)
		return ids
	}
	want := func(keep func(node uuid.UUID) bool) (ids []milvus.EntryID) {
		for _, e := range entries {
			if keep(e.Node) {
				ids = append(ids, e.ID())
			}
		}
		return ids
	}
	a, b := entries[20].Node, entries[50].Node
	after := func(node, bound uuid.UUID) bool { return bytes.Compare(node[:], bound[:]) > 0 }
	require.ElementsMatch(t, want(func(uuid.UUID) bool { return true }), list(nil, nil))
	require.ElementsMatch(t, want(func(n uuid.UUID) bool { return !after(n, a) }), list(nil, &a))
	require.ElementsMatch(t, want(func(n uuid.UUID) bool { return after(n, a) && !after(n, b) }), list(&a, &b))
	require.ElementsMatch(t, want(func(n uuid.UUID) bool { return after(n, b) }), list(&b, nil))

	require.NoError(t, db.Delete(t.Context(), name, []milvus.EntryID{entries[0].ID()}))
	require.NoError(t, db.Flush(t.Context(), name))
	require.EqualValues(t, 79, count(one))
	require.ElementsMatch(t, want(func(uuid.UUID) bool { return true })[1:], list(nil, nil))
}

func TestTooManyEntriesToListAreTooLarge(t *testing.T) {
	db := open(t, testenv.Milvus(t))
	name := newName(t, db)
	require.NoError(t, db.CreateCollection(t.Context(), name, 2))
	workspace := uuid.New()
	entries := make([]milvus.Entry, 16_384)
	for i := range entries {
		entries[i] = entry(workspace, 1, float32(i))
	}
	require.NoError(t, db.Upsert(t.Context(), name, entries))
	_, err := db.ListIDs(t.Context(), name, workspace, nil, nil)
	require.True(t, fault.Is(err, fault.TooLarge), "%v", err)
	require.NoError(t, db.Delete(t.Context(), name, []milvus.EntryID{entries[0].ID()}))
	ids, err := db.ListIDs(t.Context(), name, workspace, nil, nil)
	require.NoError(t, err)
	require.Len(t, ids, len(entries)-1)
}
