package native

import (
	"errors"
	"io"
	"slices"
	"sync"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// Maximum size of a chunk that is written at a time, and maximum number of rows of a
// run-length column that are expanded for a chunk.
const (
	chunkBytes = 1 << 20
	chunkRows  = 16 << 10
)

// section is a part of a block: bytes, or the remaining rows of a run-length column.
type section struct {
	raw  []byte
	runs *Runs
	row  int // next row of runs
}

// NewBody returns a Body with one block of rows in ClickHouse's format Native. It reads
// numbers directly from the memory of the columns.
func NewBody(columns []ch.ColumnNameAndType, rows int, data []Column) *Body {
	return &Body{sections: encodeBlock(columns, rows, data)}
}

// errReleased is returned when a released body is read.
var errReleased = errors.New("the rows have been released")

// Body is the body of an HTTP request. The caller may use the memory of the columns again when
// Release has returned. This matters because an HTTP client may continue to read a body after
// the request has failed.
type Body struct {
	mu       sync.Mutex
	released bool
	chunk    []byte // remaining bytes of the current chunk
	sections []section
	expanded []uint64 // memory of a chunk that expands runs
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	chunk, err := b.next()
	if err != nil {
		return 0, err
	}
	n := copy(p, chunk)
	b.chunk = chunk[n:]
	return n, nil
}

// WriteTo writes the remaining bytes, one chunk at a time.
func (b *Body) WriteTo(w io.Writer) (total int64, err error) {
	for {
		n, err := b.writeChunk(w)
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

func (b *Body) writeChunk(w io.Writer) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	chunk, err := b.next()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(chunk)
	b.chunk = chunk[n:]
	return n, err //nolint:wrapcheck // the error of the writer, as io.WriterTo requires
}

// next returns the next chunk, which is never empty.
func (b *Body) next() ([]byte, error) {
	if b.released {
		return nil, errReleased
	}
	for len(b.chunk) == 0 {
		if len(b.sections) == 0 {
			return nil, io.EOF
		}
		next := &b.sections[0]
		if next.runs != nil && next.row < next.runs.Len() {
			b.chunk = b.expand(next)
			break
		}
		b.chunk, b.sections = next.raw, b.sections[1:]
	}
	return b.chunk, nil
}

// expand returns the next chunk of a section with runs.
func (b *Body) expand(p *section) []byte {
	expanded := slices.Grow(b.expanded[:0], chunkRows)
	for value, rows := range p.runs.From(p.row) {
		for range min(rows, chunkRows-len(expanded)) {
			expanded = append(expanded, value)
		}
		if len(expanded) == chunkRows {
			break
		}
	}
	b.expanded, p.row = expanded, p.row+len(expanded)
	return Fixed[uint64](expanded).raw()
}

// Release ends the use of the memory of the columns. It waits for a chunk that is being
// written.
func (b *Body) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.released, b.chunk, b.sections = true, nil, nil
}
