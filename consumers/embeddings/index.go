package embeddings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/retrieval/chunk"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	"github.com/livegraph/livegraph/storage/milvus"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/storage/postgres/textindex"
)

// nodePageSize is the maximum number of nodes that are written at once. It limits the memory used
// and the time for which a workspace is locked.
const nodePageSize = 256

// hashBytes is the number of bytes stored of the SHA-256 of the texts.
const hashBytes = 16

// indexer updates indexes with the current nodes.
type indexer struct {
	db           *stores.DB
	vectors      *milvus.DB
	textEmbedder *textEmbedder
	flusher      *flusher
	metrics      *metrics
}

// task is a set of nodes to update in an index.
type task struct {
	index    textindex.SearchIndex
	refs     []textindex.NodeRef
	progress map[uuid.UUID]int64 // sequences to record when all nodes are written
	unsure   map[indexedRef]bool // nodes to write whatever Postgres has recorded
}

// write updates an index with the nodes of a task. From an index of another model it only removes
// nodes.
func (x *indexer) write(ctx context.Context, t task) error {
	refs := slices.Compact(slices.SortedFunc(slices.Values(t.refs), compareRefs))
	for len(refs) > nodePageSize {
		if err := x.writeNodes(ctx, t, refs[:nodePageSize], nil); err != nil {
			return err
		}
		refs = refs[nodePageSize:]
	}
	progress := t.progress
	if t.index.Model != x.textEmbedder.embedder.Model() {
		progress = nil
	}
	if len(refs) == 0 && len(progress) == 0 {
		return nil
	}
	return x.writeNodes(ctx, t, refs, progress)
}

func compareRefs(a, b textindex.NodeRef) int {
	if c := bytes.Compare(a.Workspace[:], b.Workspace[:]); c != 0 {
		return c
	}
	return bytes.Compare(a.Node[:], b.Node[:])
}

// writeNodes writes some of the nodes. It embeds their texts, which takes long, before it locks the
// workspaces, and embeds again those that changed in the meantime.
func (x *indexer) writeNodes(
	ctx context.Context, t task, refs []textindex.NodeRef, progress map[uuid.UUID]int64,
) error {
	known := map[string]embed.Vector{}
	if len(refs) > 0 {
		if err := x.prefetch(ctx, t, refs, known); err != nil {
			return err
		}
	}
	write := func(ctx context.Context, w *textindex.IndexWriter) error {
		p, err := x.plan(ctx, w, t, refs)
		if err != nil {
			return err
		}
		if err := x.textEmbedder.embed(ctx, p.texts(), known); err != nil {
			return err
		}
		return x.apply(ctx, w, t, p, known, progress)
	}
	return x.db.WriteIndex(ctx, t.index.ID, workspacesOf(refs, progress), write)
}

func workspacesOf(refs []textindex.NodeRef, progress map[uuid.UUID]int64) []uuid.UUID {
	ids := slices.Collect(maps.Keys(progress))
	for _, r := range refs {
		ids = append(ids, r.Workspace)
	}
	return ids
}

// nodeReader reads nodes and their recorded index state.
type nodeReader interface {
	LiveTexts(ctx context.Context, refs []textindex.NodeRef) (map[textindex.NodeRef]textindex.NodeTexts, error)
	IndexedNodes(ctx context.Context, refs []textindex.NodeRef) (map[textindex.NodeRef]textindex.IndexedNode, error)
}

// unlockedReader reads without a lock.
type unlockedReader struct {
	*stores.DB
	index uuid.UUID
}

func (o unlockedReader) IndexedNodes(ctx context.Context, refs []textindex.NodeRef) (
	map[textindex.NodeRef]textindex.IndexedNode, error,
) {
	return o.DB.IndexedNodes(ctx, o.index, refs)
}

// prefetch embeds the texts that are expected to be needed.
func (x *indexer) prefetch(ctx context.Context, t task, refs []textindex.NodeRef, known map[string]embed.Vector) error {
	p, err := x.plan(ctx, unlockedReader{x.db, t.index.ID}, t, refs)
	if err != nil {
		return err
	}
	return x.textEmbedder.embed(ctx, p.texts(), known)
}

// plan contains the changes to write to an index.
type plan struct {
	nodes   []plannedNode
	removed []textindex.IndexedNode
}

// plannedNode is a node whose texts have to be written.
type plannedNode struct {
	textindex.IndexedNode // the new state, without the number of vectors
	chunks                []chunk.Chunk
	oldChunks             int // number of chunks that the index may contain
}

// texts returns the texts to embed.
func (p *plan) texts() (all []string) {
	for _, n := range p.nodes {
		for _, c := range n.chunks {
			all = append(all, c.Text)
		}
	}
	return all
}

// plan compares nodes with their recorded index state.
func (x *indexer) plan(ctx context.Context, reader nodeReader, t task, refs []textindex.NodeRef) (*plan, error) {
	p := &plan{}
	if len(refs) == 0 {
		return p, nil
	}
	nodes, err := reader.LiveTexts(ctx, refs)
	if err != nil {
		return nil, err
	}
	indexedNodes, err := reader.IndexedNodes(ctx, refs)
	if err != nil {
		return nil, err
	}
	otherModel := t.index.Model != x.textEmbedder.embedder.Model()
	for _, ref := range refs {
		node, exists := nodes[ref]
		previous, indexed := indexedNodes[ref]
		switch {
		case !exists && indexed:
			p.removed = append(p.removed, previous)
		case !exists || otherModel:
		default:
			chunks := chunk.Split(node.Name, node.Description, node.Properties)
			hash := hashChunks(chunks)
			same := indexed && !previous.Intent && bytes.Equal(previous.TextHash, hash) && previous.EntityType == node.EntityType
			if same && !t.unsure[indexedRef{t.index.ID, ref}] {
				continue
			}
			p.nodes = append(p.nodes, plannedNode{
				IndexedNode: textindex.IndexedNode{NodeRef: ref, EntityType: node.EntityType, TextHash: hash, Chunks: len(chunks)},
				chunks:      chunks, oldChunks: previous.Chunks,
			})
		}
	}
	return p, nil
}

// hashChunks returns a hash of the texts of chunks.
func hashChunks(chunks []chunk.Chunk) []byte {
	h := sha256.New()
	var size [8]byte
	for _, c := range chunks {
		binary.LittleEndian.PutUint64(size[:], uint64(len(c.Text)))
		h.Write(size[:])
		h.Write([]byte(c.Text))
	}
	return h.Sum(nil)[:hashBytes]
}

// apply writes a plan. It records the intent before the write and the completion after it.
func (x *indexer) apply(
	ctx context.Context, w *textindex.IndexWriter, t task, p *plan, known map[string]embed.Vector,
	progress map[uuid.UUID]int64,
) error {
	if len(p.nodes)+len(p.removed)+len(progress) == 0 {
		return nil
	}
	began := time.Now()
	done := textindex.IndexedBatch{Progress: progress}
	var entries []milvus.Entry
	var surplus []milvus.EntryID
	var touched []indexedRef
	for _, n := range p.nodes {
		written := map[int]bool{}
		for _, c := range n.chunks {
			if v := known[c.Text]; v != nil { // a text without a vector has no entry in Milvus
				entries = append(entries, milvus.Entry{
					Workspace: n.Workspace, Node: n.Node, Chunk: c.Index, EntityType: n.EntityType, Vector: v,
				})
				written[c.Index] = true
			}
		}
		surplus = append(surplus, entryIDsExcept(n.NodeRef, n.oldChunks, written)...)
		n.Vectors = len(written)
		done.Nodes = append(done.Nodes, n.IndexedNode)
		touched = append(touched, indexedRef{t.index.ID, n.NodeRef})
	}
	for _, n := range p.removed {
		surplus = append(surplus, entryIDsExcept(n.NodeRef, n.Chunks, nil)...)
		done.Removed = append(done.Removed, n.NodeRef)
	}
	if err := w.Intend(ctx, done.Nodes); err != nil {
		return err
	}
	for _, ref := range touched {
		if t.unsure != nil {
			t.unsure[ref] = true
		}
	}
	if err := x.vectors.Upsert(ctx, t.index.Collection, entries); err != nil {
		return err
	}
	if err := x.vectors.Delete(ctx, t.index.Collection, surplus); err != nil {
		return err
	}
	if err := w.Complete(ctx, done); err != nil {
		return err
	}
	for _, ref := range touched {
		delete(t.unsure, ref)
	}
	x.flusher.addRows(t.index.Collection, len(entries)+len(surplus))
	x.metrics.recordWrite(done, len(entries), time.Since(began))
	return nil
}

// entryIDsExcept returns the IDs of the first chunks of a node, without those in except.
func entryIDsExcept(ref textindex.NodeRef, chunks int, except map[int]bool) (ids []milvus.EntryID) {
	for i := range chunks {
		if !except[i] {
			ids = append(ids, milvus.EntryID{Workspace: ref.Workspace, Node: ref.Node, Chunk: i})
		}
	}
	return ids
}

// catchUp updates an index with all changes of a workspace after a sequence, up to the newest
// change at its start. Later changes have events, so catchUp does not wait for them. It records
// its progress after each page, so that an interrupted run continues there.
func (x *indexer) catchUp(ctx context.Context, index textindex.SearchIndex, workspace uuid.UUID, sequence int64) error {
	head, err := x.db.GraphSequence(ctx, workspace)
	if err != nil {
		return err
	}
	for after := (textindex.ChangedNode{ID: uuid.Max, ChangedBy: sequence}); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		changed, err := x.db.ChangedNodes(ctx, workspace, after, head, nodePageSize)
		if err != nil {
			return err
		}
		t := task{index: index, unsure: map[indexedRef]bool{}, progress: map[uuid.UUID]int64{workspace: head}}
		for _, n := range changed {
			t.refs = append(t.refs, textindex.NodeRef{Workspace: workspace, Node: n.ID})
		}
		last := len(changed) < nodePageSize
		if !last {
			after = changed[len(changed)-1]
			t.progress[workspace] = max(after.ChangedBy-1, sequence) // that change may have touched more nodes
		}
		if err := x.write(ctx, t); err != nil || last {
			return err
		}
	}
}

func refsOf(workspace uuid.UUID, ids []uuid.UUID) []textindex.NodeRef {
	refs := make([]textindex.NodeRef, len(ids))
	for i, id := range ids {
		refs[i] = textindex.NodeRef{Workspace: workspace, Node: id}
	}
	return refs
}
