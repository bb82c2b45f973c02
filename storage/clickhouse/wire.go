package clickhouse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// What is written of a block at a time, at most, and of a column that is made meanwhile.
const (
	pieceBytes = 1 << 20
	pieceWords = 16 << 10
)

// section is a part of a block: bytes, or those of the rows of runs that are left.
type section struct {
	raw  []byte
	runs *Runs
	row  int // of the runs
}

// wireColumn is the column of many rows on its way into ClickHouse, without its name
// and type.
type wireColumn interface {
	// sections appends it to a block as ClickHouse's format Native has it. They may be its
	// own memory.
	sections(block []section) []section
	// appendTo puts it into column i of a batch.
	appendTo(batch driver.Batch, i int) error
}

// words are values that are eight bytes in memory as on the wire: all machines we
// build for are little-endian like the protocol.
type words[W uint64 | int64 | float64] []W

// raw returns the memory of the words.
func (c words[W]) raw() []byte {
	memory := unsafe.Pointer(unsafe.SliceData(c))  //nolint:gosec // G103: that of the words
	return unsafe.Slice((*byte)(memory), 8*len(c)) //nolint:gosec // G103: of their length
}

func (c words[W]) sections(block []section) []section {
	raw := c.raw()
	for len(raw) > pieceBytes {
		block, raw = append(block, section{raw: raw[:pieceBytes]}), raw[pieceBytes:]
	}
	return append(block, section{raw: raw})
}

// appendTo is one copy of memory. The driver's own Append takes a slice value by value,
// and an int64 for milliseconds: 40 ns a row instead of 4.
func (c words[W]) appendTo(batch driver.Batch, i int) error {
	return decodeInto(batch, i, bytes.NewReader(c.raw()), len(c))
}

func decodeInto(batch driver.Batch, i int, from io.Reader, rows int) error {
	column := batch.Columns()[i]
	if err := column.Decode(proto.NewReader(from), rows); err != nil {
		return fmt.Errorf("filling column %s: %w", column.Name(), err)
	}
	return nil
}

func (r *Runs) sections(block []section) []section { return append(block, section{runs: r}) }

func (r *Runs) appendTo(batch driver.Batch, i int) error {
	return decodeInto(batch, i, &lentBody{rest: r.sections(nil)}, r.Len())
}

// texts are strings.
type texts []string

func (c texts) sections(block []section) []section {
	size := 0
	for _, text := range c {
		size += (bits.Len(uint(len(text))|1)+6)/7 + len(text)
	}
	encoded := make([]byte, 0, size)
	for _, text := range c {
		encoded = append(binary.AppendUvarint(encoded, uint64(len(text))), text...)
	}
	return append(block, section{raw: encoded})
}

func (c texts) appendTo(batch driver.Batch, i int) error { return batch.Column(i).Append([]string(c)) }

// octets are numbers of eight bits.
type octets []uint8

func (c octets) sections(block []section) []section { return append(block, section{raw: c}) }

func (c octets) appendTo(batch driver.Batch, i int) error { return batch.Column(i).Append([]uint8(c)) }

// uuids are of two words each, the higher one first, of which the lowest byte comes first.
type uuids []uuid.UUID

func (c uuids) sections(block []section) []section {
	encoded := make([]byte, 0, 16*len(c))
	for i := range c {
		encoded = binary.LittleEndian.AppendUint64(encoded, binary.BigEndian.Uint64(c[i][:8]))
		encoded = binary.LittleEndian.AppendUint64(encoded, binary.BigEndian.Uint64(c[i][8:]))
	}
	return append(block, section{raw: encoded})
}

func (c uuids) appendTo(batch driver.Batch, i int) error {
	return batch.Column(i).Append([]uuid.UUID(c))
}

// textMaps are maps of texts: where each ends, all keys, all values.
type textMaps []*pairs

func (c textMaps) sections(block []section) []section {
	var (
		ends         = make(words[uint64], 0, len(c))
		keys, values texts
	)
	for _, m := range c {
		for _, pair := range *m {
			keys, values = append(keys, pair.Key), append(values, pair.Value)
		}
		ends = append(ends, uint64(len(keys)))
	}
	return values.sections(keys.sections(ends.sections(block)))
}

func (c textMaps) appendTo(batch driver.Batch, i int) error {
	return batch.Column(i).Append([]*pairs(c))
}

// insertWire sends rows of these columns. Over HTTP they go as they lie in memory: a
// batch of the driver would hold them twice more, and what it grows into as well, which
// for a million points is 100 MB.
func (db *DB) insertWire(
	ctx context.Context, conn driver.Conn, operation, statement string, columns []ch.ColumnNameAndType, rows int,
	data ...wireColumn,
) error {
	if db.options.Protocol != ch.HTTP {
		return db.insert(ctx, conn, operation, statement, columns, rows, func(batch driver.Batch) error {
			for i, column := range data {
				if err := column.appendTo(batch, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return db.inserting(ctx, operation, rows, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		body := &lentBody{rest: blockOf(columns, rows, data)}
		err := conn.InsertFormat(ctx, "Native", statement, body)
		cancel() // what is still being written to a server that has failed ends with it
		body.takeBack()
		if err != nil {
			return fmt.Errorf("%s: %d rows: %w", statement, rows, err)
		}
		return nil
	})
}

// blockOf returns the block of rows of the columns in ClickHouse's format Native:
// https://clickhouse.com/docs/interfaces/formats/Native.
func blockOf(columns []ch.ColumnNameAndType, rows int, data []wireColumn) []section {
	head := binary.AppendUvarint(nil, uint64(len(columns)))
	head = binary.AppendUvarint(head, uint64(rows))
	var block []section
	for i, c := range columns {
		for _, text := range []string{c.Name, c.Type} {
			head = append(binary.AppendUvarint(head, uint64(len(text))), text...)
		}
		block = data[i].sections(append(block, section{raw: head}))
		head = nil
	}
	return block
}

// errTakenBack is what reading a body gives whose memory is its owner's again.
var errTakenBack = errors.New("the rows are not lent any more")

// lentBody is the body of a request, of memory that is its owner's again when takeBack
// has returned: an HTTP client may read a body on after the request has failed.
type lentBody struct {
	mu    sync.Mutex
	over  bool
	piece []byte // that is next
	rest  []section
	made  []uint64 // of a section that is runs, for a piece
}

// Read reads what is left.
func (b *lentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	piece, err := b.next()
	if err != nil {
		return 0, err
	}
	n := copy(p, piece)
	b.piece = piece[n:]
	return n, nil
}

// WriteTo writes what is left, a piece at a time.
func (b *lentBody) WriteTo(w io.Writer) (total int64, err error) {
	for {
		n, err := b.writePiece(w)
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

func (b *lentBody) writePiece(w io.Writer) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	piece, err := b.next()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(piece)
	b.piece = piece[n:]
	return n, err //nolint:wrapcheck // it is the writer's, as io.WriterTo has it
}

// next returns the piece that is next, never an empty one.
func (b *lentBody) next() ([]byte, error) {
	if b.over {
		return nil, errTakenBack
	}
	for len(b.piece) == 0 {
		if len(b.rest) == 0 {
			return nil, io.EOF
		}
		next := &b.rest[0]
		if next.runs != nil && next.row < next.runs.Len() {
			b.piece = b.expand(next)
			break
		}
		b.piece, b.rest = next.raw, b.rest[1:]
	}
	return b.piece, nil
}

// expand makes the next piece of runs.
func (b *lentBody) expand(p *section) []byte {
	made := slices.Grow(b.made[:0], pieceWords)
	for value, rows := range p.runs.From(p.row) {
		for range min(rows, pieceWords-len(made)) {
			made = append(made, value)
		}
		if len(made) == pieceWords {
			break
		}
	}
	b.made, p.row = made, p.row+len(made)
	return words[uint64](made).raw()
}

// takeBack waits for the piece that is being written.
func (b *lentBody) takeBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.piece, b.rest = true, nil, nil
}
