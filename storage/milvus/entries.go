package milvus

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// callBytes bounds the vectors of one call: far below what a server takes (64 MiB
	// and more), so that a call is over in about a second.
	callBytes = 4 << 20
	// callKeys bounds what one call deletes or a filter lists.
	callKeys = 5_000
)

// Entry is the vector of one chunk of a node's text.
type Entry struct {
	Workspace, Node uuid.UUID
	Chunk           int // 0 to 2,147,483,647
	EntityType      string
	Vector          []float32 // as long as the collection's vectors, not all 0
}

// ID tells the entry's identity.
func (e Entry) ID() EntryID { return EntryID{e.Workspace, e.Node, e.Chunk} }

// entityTypes go into expressions and therefore are plain words.
var entityTypes = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Upsert writes entries in place of those of the same workspace, node and chunk; of
// several for one the last counts. Any number may be given. All are checked first
// (Invalid, and nothing is written); what goes wrong later leaves a part written, and
// the whole may be written again.
func (db *DB) Upsert(ctx context.Context, name string, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	c, err := db.collection(ctx, name)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if err := checkEntry(e, c.dimensions); err != nil {
			return fmt.Errorf("vector %d of %d: %w", i+1, len(entries), err)
		}
	}
	entries = lastOfEach(entries)
	rows := max(1, callBytes/(4*c.dimensions))
	for len(entries) > 0 {
		n := min(rows, len(entries))
		if err := db.upsert(ctx, c, entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

func (db *DB) upsert(ctx context.Context, c collection, entries []Entry) error {
	fields := columns(entries, c.dimensions)
	return db.write(ctx, opUpsert, c.name, len(entries), func(ctx context.Context) error {
		_, err := db.client.Upsert(ctx, c.name, "", fields...)
		return err
	})
}

// write runs one writing call, alone on its collection.
func (db *DB) write(ctx context.Context, operation, name string, entries int, call func(context.Context) error) error {
	err := db.do(ctx, operation, writeLimit, func(ctx context.Context) error {
		release, err := db.turn(ctx, name)
		if err != nil {
			return err
		}
		defer release()
		err = call(ctx)
		if isRefusal(err, (*refusal).noCollection) {
			db.forget(name)
		}
		return err
	})
	if err == nil && entries > 0 {
		db.metrics.count(operation, entries)
	}
	return err
}

// lastOfEach leaves the last entry of each identity: Milvus takes two of one call for
// two rows.
func lastOfEach(entries []Entry) []Entry {
	last := make(map[EntryID]int, len(entries))
	for i, e := range entries {
		last[e.ID()] = i
	}
	if len(last) == len(entries) {
		return entries
	}
	left := make([]Entry, 0, len(last))
	for i, e := range entries {
		if last[e.ID()] == i {
			left = append(left, e)
		}
	}
	return left
}

func checkEntry(e Entry, dimensions int) error {
	switch {
	case e.Chunk < 0 || e.Chunk > maxChunk:
		return fault.Newf(fault.Invalid, "the number of a chunk is 0 to %d", maxChunk)
	case !entityTypes.MatchString(e.EntityType):
		return fault.New(fault.Invalid, "the entity type is not a plain word")
	}
	return checkVector(e.Vector, dimensions)
}

// checkVector refuses what no cosine can be taken of. milvus-lite would take it.
func checkVector(vector []float32, dimensions int) error {
	if len(vector) != dimensions {
		return fault.Newf(fault.Invalid, "the vector has %d dimensions, the index %d", len(vector), dimensions)
	}
	var square float64
	for _, x := range vector {
		square += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(square) || math.IsInf(square, 0):
		return fault.New(fault.Invalid, "the vector holds what is not a number")
	case square < math.SmallestNonzeroFloat32:
		return fault.New(fault.Invalid, "the vector is zero")
	case square > math.MaxFloat32:
		return fault.New(fault.Invalid, "the vector is too long")
	}
	return nil
}

// columns lays entries out by field.
func columns(entries []Entry, dimensions int) []entity.Column {
	n := len(entries)
	ids, workspaces, nodes, types := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	chunks, vectors := make([]int64, n), make([][]float32, n)
	for i, e := range entries {
		ids[i], workspaces[i], nodes[i], types[i] = e.ID().key(), e.Workspace.String(), e.Node.String(), e.EntityType
		chunks[i], vectors[i] = int64(e.Chunk), e.Vector
	}
	return []entity.Column{
		entity.NewColumnVarChar(fieldID, ids), entity.NewColumnVarChar(fieldWorkspace, workspaces),
		entity.NewColumnVarChar(fieldNode, nodes), entity.NewColumnVarChar(fieldEntityType, types),
		entity.NewColumnInt64(fieldChunk, chunks), entity.NewColumnFloatVector(fieldVector, dimensions, vectors),
	}
}

// Delete removes entries. Those that are not there are none to it.
func (db *DB) Delete(ctx context.Context, name string, ids []EntryID) error {
	if len(ids) == 0 {
		return nil
	}
	c, err := db.collection(ctx, name)
	if err != nil {
		return err
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		if id.Chunk < 0 || id.Chunk > maxChunk {
			return fault.Newf(fault.Invalid, "the number of a chunk is 0 to %d", maxChunk)
		}
		keys[i] = id.key()
	}
	for len(keys) > 0 {
		n := min(callKeys, len(keys))
		if err := db.delete(ctx, opDelete, c.name, anyOf(fieldID, keys[:n]), n); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// DeleteWorkspace removes all entries of a workspace.
func (db *DB) DeleteWorkspace(ctx context.Context, name string, workspace uuid.UUID) error {
	c, err := db.collection(ctx, name)
	if err != nil {
		return err
	}
	return db.delete(ctx, opDeleteWorkspace, c.name, ofWorkspace(workspace), 0)
}

func (db *DB) delete(ctx context.Context, operation, name, expression string, entries int) error {
	return db.write(ctx, operation, name, entries, func(ctx context.Context) error {
		return db.loaded(ctx, name, func() error {
			return db.client.Delete(ctx, name, "", expression)
		})
	})
}

// ofWorkspace is the expression for all of a workspace.
func ofWorkspace(workspace uuid.UUID) string {
	return fieldWorkspace + ` == "` + workspace.String() + `"`
}

// anyOf is the expression for a field that has one of the values. They are made by us
// or checked to be plain words: nothing needs quoting but by quotes.
func anyOf(field string, values []string) string {
	var b strings.Builder
	b.Grow(len(field) + 6 + len(values)*(keyText+3))
	b.WriteString(field + " in [")
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		b.WriteString(v)
		b.WriteByte('"')
	}
	b.WriteByte(']')
	return b.String()
}
