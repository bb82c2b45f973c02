package native

import (
	"errors"
	"io"
	"slices"
	"sync"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// Sizes of what is written of a block at a time, and of a run-length column that is
// expanded meanwhile.
const (
	chunkBytes = 1 << 20
	chunkRows  = 16 << 10
)

// section is a part of a block: bytes, or the remaining rows of a run-length column.
type section struct {
	raw  []byte
	runs *Runs
	row  int // of the runs
}

// NewBody returns the block of the columns' rows in ClickHouse's format Native. It reads
// numbers from the columns' own memory.
func NewBody(columns []ch.ColumnNameAndType, rows int, data []Column) *Body {
	return &Body{rest: blockOf(columns, rows, data)}
}

// errReleased is what reading a released body returns.
var errReleased = errors.New("the rows have been released")

// Body is the body of a request whose memory belongs to the caller again when Release has
// returned: an HTTP client may read a body on after the request has failed.
type Body struct {
	mu    sync.Mutex
	over  bool
	chunk []byte // that is next
	rest  []section
	made  []uint64 // of a section that is runs, for a chunk
}

// Read reads what is left.
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

// WriteTo writes what is left, a chunk at a time.
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
	return n, err //nolint:wrapcheck // it is the writer's, as io.WriterTo has it
}

// next returns the chunk that is next, never an empty one.
func (b *Body) next() ([]byte, error) {
	if b.over {
		return nil, errReleased
	}
	for len(b.chunk) == 0 {
		if len(b.rest) == 0 {
			return nil, io.EOF
		}
		next := &b.rest[0]
		if next.runs != nil && next.row < next.runs.Len() {
			b.chunk = b.expand(next)
			break
		}
		b.chunk, b.rest = next.raw, b.rest[1:]
	}
	return b.chunk, nil
}

// expand makes the next chunk of runs.
func (b *Body) expand(p *section) []byte {
	made := slices.Grow(b.made[:0], chunkRows)
	for value, rows := range p.runs.From(p.row) {
		for range min(rows, chunkRows-len(made)) {
			made = append(made, value)
		}
		if len(made) == chunkRows {
			break
		}
	}
	b.made, p.row = made, p.row+len(made)
	return Fixed[uint64](made).raw()
}

// Release ends the use of the rows. It waits for the chunk that is being written.
func (b *Body) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.chunk, b.rest = true, nil, nil
}
