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

// nodesAtOnce is how many nodes are written at once: a bound of what is in memory, and
// of how long a workspace is held.
const nodesAtOnce = 256

// hashBytes is how much of a SHA-256 of the texts is kept.
const hashBytes = 16

// indexer brings indexes up to date with nodes.
type indexer struct {
	db      *stores.DB
	vectors *milvus.DB
	texts   *embedding
	flusher *flusher
	metrics *metrics
}

// task is what is to be brought up to date.
type task struct {
	index    textindex.SearchIndex
	refs     []textindex.NodeRef
	progress map[uuid.UUID]int64 // what is reached when all is written
	unsure   map[indexedRef]bool // nodes to be written whatever is noted
}

// write brings an index up to date with nodes. Of an index of another model nodes are
// only removed.
func (x *indexer) write(ctx context.Context, t task) error {
	refs := slices.Compact(slices.SortedFunc(slices.Values(t.refs), compareRefs))
	for len(refs) > nodesAtOnce {
		if err := x.portion(ctx, t, refs[:nodesAtOnce], nil); err != nil {
			return err
		}
		refs = refs[nodesAtOnce:]
	}
	progress := t.progress
	if t.index.Model != x.texts.embedder.Model() {
		progress = nil
	}
	if len(refs) == 0 && len(progress) == 0 {
		return nil
	}
	return x.portion(ctx, t, refs, progress)
}

func compareRefs(a, b textindex.NodeRef) int {
	if c := bytes.Compare(a.Workspace[:], b.Workspace[:]); c != 0 {
		return c
	}
	return bytes.Compare(a.Node[:], b.Node[:])
}

// portion writes some of the nodes. What takes long, the embedding, is done before
// anybody is kept waiting; what changed meanwhile is embedded again.
func (x *indexer) portion(ctx context.Context, t task, refs []textindex.NodeRef, progress map[uuid.UUID]int64) error {
	known := map[string]embed.Vector{}
	if len(refs) > 0 {
		if err := x.foresee(ctx, t, refs, known); err != nil {
			return err
		}
	}
	w, err := x.db.WriteIndex(ctx, t.index.ID, workspacesOf(refs, progress))
	if err != nil {
		return err
	}
	defer w.Release(ctx)
	p, err := x.plan(ctx, w, t, refs)
	if err != nil {
		return err
	}
	if err := x.texts.embed(ctx, p.texts(), known); err != nil {
		return err
	}
	return x.carryOut(ctx, w, t, p, known, progress)
}

func workspacesOf(refs []textindex.NodeRef, progress map[uuid.UUID]int64) []uuid.UUID {
	ids := slices.Collect(maps.Keys(progress))
	for _, r := range refs {
		ids = append(ids, r.Workspace)
	}
	return ids
}

// source is where nodes and what is indexed of them are read.
type source interface {
	StandingTexts(ctx context.Context, refs []textindex.NodeRef) (map[textindex.NodeRef]textindex.NodeTexts, error)
	IndexedNodes(ctx context.Context, refs []textindex.NodeRef) (map[textindex.NodeRef]textindex.IndexedNode, error)
}

// outside reads without being alone.
type outside struct {
	*stores.DB
	index uuid.UUID
}

func (o outside) IndexedNodes(ctx context.Context, refs []textindex.NodeRef) (
	map[textindex.NodeRef]textindex.IndexedNode, error,
) {
	return o.DB.IndexedNodes(ctx, o.index, refs)
}

// foresee embeds what will be needed, as far as can be told.
func (x *indexer) foresee(ctx context.Context, t task, refs []textindex.NodeRef, known map[string]embed.Vector) error {
	p, err := x.plan(ctx, outside{x.db, t.index.ID}, t, refs)
	if err != nil {
		return err
	}
	return x.texts.embed(ctx, p.texts(), known)
}

// plan is what has to be written.
type plan struct {
	nodes []planned
	gone  []textindex.IndexedNode
}

// planned is a node whose texts are written.
type planned struct {
	textindex.IndexedNode // as it will be, without its vectors
	chunks                []chunk.Chunk
	before                int // chunks that may be there
}

// texts returns what has to be embedded.
func (p *plan) texts() (all []string) {
	for _, n := range p.nodes {
		for _, c := range n.chunks {
			all = append(all, c.Text)
		}
	}
	return all
}

// plan compares nodes with what the index is known to hold of them.
func (x *indexer) plan(ctx context.Context, from source, t task, refs []textindex.NodeRef) (*plan, error) {
	p := &plan{}
	if len(refs) == 0 {
		return p, nil
	}
	standing, err := from.StandingTexts(ctx, refs)
	if err != nil {
		return nil, err
	}
	held, err := from.IndexedNodes(ctx, refs)
	if err != nil {
		return nil, err
	}
	foreign := t.index.Model != x.texts.embedder.Model()
	for _, ref := range refs {
		node, stands := standing[ref]
		was, indexed := held[ref]
		switch {
		case !stands && indexed:
			p.gone = append(p.gone, was)
		case !stands || foreign:
		default:
			chunks := chunk.Split(node.Name, node.Description, node.Properties)
			hash := hashOf(chunks)
			same := indexed && !was.Intent && bytes.Equal(was.TextHash, hash) && was.EntityType == node.EntityType
			if same && !t.unsure[indexedRef{t.index.ID, ref}] {
				continue
			}
			p.nodes = append(p.nodes, planned{
				IndexedNode: textindex.IndexedNode{NodeRef: ref, EntityType: node.EntityType, TextHash: hash, Chunks: len(chunks)},
				chunks:      chunks, before: was.Chunks,
			})
		}
	}
	return p, nil
}

// hashOf tells texts apart.
func hashOf(chunks []chunk.Chunk) []byte {
	h := sha256.New()
	var size [8]byte
	for _, c := range chunks {
		binary.LittleEndian.PutUint64(size[:], uint64(len(c.Text)))
		h.Write(size[:])
		h.Write([]byte(c.Text))
	}
	return h.Sum(nil)[:hashBytes]
}

// carryOut writes a plan: that it will be is noted first, and last that it was.
func (x *indexer) carryOut(
	ctx context.Context, w *textindex.IndexWriter, t task, p *plan, known map[string]embed.Vector,
	progress map[uuid.UUID]int64,
) error {
	if len(p.nodes)+len(p.gone)+len(progress) == 0 {
		return nil
	}
	began := time.Now()
	done := textindex.IndexedBatch{Progress: progress}
	var entries []milvus.Entry
	var surplus []milvus.EntryID
	var touched []indexedRef
	for _, n := range p.nodes {
		there := map[int]bool{}
		for _, c := range n.chunks {
			if v := known[c.Text]; v != nil { // a text without a vector is none to Milvus
				entries = append(entries, milvus.Entry{
					Workspace: n.Workspace, Node: n.Node, Chunk: c.Index, EntityType: n.EntityType, Vector: v,
				})
				there[c.Index] = true
			}
		}
		surplus = append(surplus, without(n.NodeRef, n.before, there)...)
		n.Vectors = len(there)
		done.Nodes = append(done.Nodes, n.IndexedNode)
		touched = append(touched, indexedRef{t.index.ID, n.NodeRef})
	}
	for _, n := range p.gone {
		surplus = append(surplus, without(n.NodeRef, n.Chunks, nil)...)
		done.Gone = append(done.Gone, n.NodeRef)
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
	x.flusher.wrote(t.index.Collection, len(entries)+len(surplus))
	x.metrics.wrote(done, len(entries), time.Since(began))
	return nil
}

// without names the entries of a node below a number of chunks, except for some.
func without(ref textindex.NodeRef, chunks int, but map[int]bool) (ids []milvus.EntryID) {
	for i := range chunks {
		if !but[i] {
			ids = append(ids, milvus.EntryID{Workspace: ref.Workspace, Node: ref.Node, Chunk: i})
		}
	}
	return ids
}

// catchUp brings an index up to date with everything that changed in a workspace after
// a sequence, up to the newest change as it begins: what comes later is told of by
// events, and is no reason to go on forever. How far it is is noted page by page, so
// that one that is cut off goes on there.
func (x *indexer) catchUp(ctx context.Context, index textindex.SearchIndex, workspace uuid.UUID, sequence int64) error {
	head, err := x.db.GraphSequence(ctx, workspace)
	if err != nil {
		return err
	}
	for after := (textindex.ChangedNode{ID: uuid.Max, ChangedBy: sequence}); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		changed, err := x.db.ChangedNodes(ctx, workspace, after, head, nodesAtOnce)
		if err != nil {
			return err
		}
		t := task{index: index, unsure: map[indexedRef]bool{}, progress: map[uuid.UUID]int64{workspace: head}}
		for _, n := range changed {
			t.refs = append(t.refs, textindex.NodeRef{Workspace: workspace, Node: n.ID})
		}
		last := len(changed) < nodesAtOnce
		if !last {
			after = changed[len(changed)-1]
			t.progress[workspace] = max(after.ChangedBy-1, sequence) // it may have touched others
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
