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
	// maxCallBytes is the maximum number of bytes of vectors in one call. It is far below the
	// limit of a server (at least 64 MiB), so that a call takes about a second.
	maxCallBytes = 4 << 20
	// maxCallKeys is the maximum number of keys that one call deletes or a filter contains.
	maxCallKeys = 5_000
)

// Entry is the vector of one chunk of a node's text.
type Entry struct {
	Workspace, Node uuid.UUID
	Chunk           int // 0 to 2,147,483,647
	EntityType      string
	Vector          []float32 // with the dimensions of the collection, not all 0
}

// ID returns the entry's identity.
func (e Entry) ID() EntryID { return EntryID{e.Workspace, e.Node, e.Chunk} }

// entityTypePattern matches entity types that need no escaping in expressions.
var entityTypePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Upsert writes any number of entries. An entry replaces the one with the same workspace, node and
// chunk; if entries contains several of these, the last one is written. All entries are validated
// first; if one is invalid, the error is fault.Invalid and nothing is written. After other errors
// some entries may be written, and the call may be repeated.
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
	entries = lastByID(entries)
	rows := max(1, maxCallBytes/(4*c.dimensions))
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

// write runs a call with the write lock of the collection.
func (db *DB) write(ctx context.Context, operation, name string, entries int, call func(context.Context) error) error {
	err := db.do(ctx, operation, writeLimit, func(ctx context.Context) error {
		release, err := db.lock(ctx, name)
		if err != nil {
			return err
		}
		defer release()
		err = call(ctx)
		if isServerError(err, (*serverError).noCollection) {
			db.invalidate(name)
		}
		return err
	})
	if err == nil && entries > 0 {
		db.metrics.count(operation, entries)
	}
	return err
}

// lastByID returns the last entry of each identity. Milvus would insert two rows for two entries of
// one call.
func lastByID(entries []Entry) []Entry {
	last := make(map[EntryID]int, len(entries))
	for i, e := range entries {
		last[e.ID()] = i
	}
	if len(last) == len(entries) {
		return entries
	}
	result := make([]Entry, 0, len(last))
	for i, e := range entries {
		if last[e.ID()] == i {
			result = append(result, e)
		}
	}
	return result
}

func checkEntry(e Entry, dimensions int) error {
	switch {
	case e.Chunk < 0 || e.Chunk > maxChunk:
		return fault.Newf(fault.Invalid, "the chunk number must be 0 to %d", maxChunk)
	case !entityTypePattern.MatchString(e.EntityType):
		return fault.New(fault.Invalid, "the entity type contains invalid characters or is too long")
	}
	return checkVector(e.Vector, dimensions)
}

// checkVector returns fault.Invalid for vectors without a cosine, which milvus-lite would accept.
func checkVector(vector []float32, dimensions int) error {
	if len(vector) != dimensions {
		return fault.Newf(fault.Invalid, "the vector has %d dimensions, but the index has %d", len(vector), dimensions)
	}
	var square float64
	for _, x := range vector {
		square += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(square) || math.IsInf(square, 0):
		return fault.New(fault.Invalid, "the vector contains a value that is not a finite number")
	case square < math.SmallestNonzeroFloat32:
		return fault.New(fault.Invalid, "the vector is zero")
	case square > math.MaxFloat32:
		return fault.New(fault.Invalid, "the vector is too long")
	}
	return nil
}

// columns converts entries to columns.
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

// Delete deletes entries. It ignores entries that do not exist.
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
			return fault.Newf(fault.Invalid, "the chunk number must be 0 to %d", maxChunk)
		}
		keys[i] = id.key()
	}
	for len(keys) > 0 {
		n := min(maxCallKeys, len(keys))
		if err := db.delete(ctx, opDelete, c.name, anyOf(fieldID, keys[:n]), n); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// DeleteWorkspace deletes all entries of a workspace.
func (db *DB) DeleteWorkspace(ctx context.Context, name string, workspace uuid.UUID) error {
	c, err := db.collection(ctx, name)
	if err != nil {
		return err
	}
	return db.delete(ctx, opDeleteWorkspace, c.name, workspaceFilter(workspace), 0)
}

func (db *DB) delete(ctx context.Context, operation, name, expression string, entries int) error {
	return db.write(ctx, operation, name, entries, func(ctx context.Context) error {
		return db.withLoaded(ctx, name, func() error {
			return db.client.Delete(ctx, name, "", expression)
		})
	})
}

// workspaceFilter returns the expression that matches all entries of a workspace.
func workspaceFilter(workspace uuid.UUID) string {
	return fieldWorkspace + ` == "` + workspace.String() + `"`
}

// anyOf returns the expression that matches entries whose field has one of the values. The values
// are generated or validated, so they need no escaping within the quotes.
func anyOf(field string, values []string) string {
	var b strings.Builder
	b.Grow(len(field) + 6 + len(values)*(keyLength+3))
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
