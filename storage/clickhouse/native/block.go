package native

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// Block is a block of rows in ClickHouse's format Native:
// https://clickhouse.com/docs/interfaces/formats/Native. LowCardinality(String) is encoded
// as String in it.
type Block struct {
	names   []string
	columns []column
}

// column is a column of a block.
type column interface {
	scanTarget() any  // destination for the value of a row
	appendScanned()   // appends the scanned value
	lastScanned() any // value that was scanned last
	data() proto.Column
	encoded() Column // column for an insert
}

// NewBlock returns an empty block with columns of the types that Livegraph's tables use.
func NewBlock(columns []ch.ColumnNameAndType) *Block {
	b := &Block{}
	for _, c := range columns {
		b.names = append(b.names, c.Name)
		b.columns = append(b.columns, newColumn(c.Type))
	}
	return b
}

// newColumn creates a column of a type that Livegraph's tables use.
func newColumn(kind string) column {
	switch {
	case kind == "UInt64":
		return &columnFor[uint64]{values: new(proto.ColUInt64)}
	case kind == "UInt32":
		return &columnFor[uint32]{values: new(proto.ColUInt32)}
	case kind == "UInt16":
		return &columnFor[uint16]{values: new(proto.ColUInt16)}
	case kind == "UInt8":
		return &columnFor[uint8]{values: new(proto.ColUInt8)}
	case kind == "Int64":
		return &columnFor[int64]{values: new(proto.ColInt64)}
	case kind == "Float64":
		return &columnFor[float64]{values: new(proto.ColFloat64)}
	case kind == "UUID":
		return &columnFor[uuid.UUID]{values: new(proto.ColUUID)}
	case strings.HasPrefix(kind, "DateTime64(6"):
		return &columnFor[time.Time]{
			values: new(proto.ColDateTime64).WithPrecision(proto.PrecisionMicro).WithLocation(time.UTC),
		}
	case strings.HasPrefix(kind, "Map("):
		return &mapColumn{values: proto.NewMap[string, string](new(proto.ColStr), new(proto.ColStr))}
	default: // String, and LowCardinality(String)
		return &columnFor[string]{values: new(proto.ColStr)}
	}
}

// columnFor is a column of one type of values.
type columnFor[T any] struct {
	scanned T
	values  proto.ColumnOf[T]
}

func (c *columnFor[T]) scanTarget() any    { return &c.scanned }
func (c *columnFor[T]) appendScanned()     { c.values.Append(c.scanned) }
func (c *columnFor[T]) lastScanned() any   { return c.scanned }
func (c *columnFor[T]) data() proto.Column { return c.values }

func (c *columnFor[T]) encoded() Column {
	if c, ok := any(c).(*columnFor[string]); ok {
		values := make(Strings, c.values.Rows())
		for i := range values {
			values[i] = c.values.Row(i)
		}
		return values
	}
	return fixedRows{c.values}
}

// fixedRows is a column of values of one size.
type fixedRows struct{ data proto.Column }

func (c fixedRows) raw() []byte {
	var buffer proto.Buffer
	c.data.EncodeColumn(&buffer)
	return buffer.Buf
}

func (c fixedRows) sections(block []section) []section { return append(block, section{raw: c.raw()}) }

func (c fixedRows) appendTo(batch driver.Batch, i int) error {
	return decodeInto(batch, i, bytes.NewReader(c.raw()), c.data.Rows())
}

// Rows returns the number of rows.
func (b *Block) Rows() int { return b.columns[0].data().Rows() }

// Targets returns the destinations for the values of a row.
func (b *Block) Targets() []any {
	all := make([]any, len(b.columns))
	for i, c := range b.columns {
		all[i] = c.scanTarget()
	}
	return all
}

// Keep appends the row that was scanned into the targets.
func (b *Block) Keep() {
	for _, c := range b.columns {
		c.appendScanned()
	}
}

// Last returns the value of a column in the row that was scanned last.
func (b *Block) Last(name string) any { return b.columns[slices.Index(b.names, name)].lastScanned() }

// Write writes the block.
func (b *Block) Write(w io.Writer) error {
	input := make([]proto.InputColumn, len(b.columns))
	for i, c := range b.columns {
		input[i] = proto.InputColumn{Name: b.names[i], Data: c.data()}
	}
	var buffer proto.Buffer
	if err := (proto.Block{Columns: len(input), Rows: b.Rows()}).EncodeRawBlock(&buffer, 0, input); err != nil {
		return fmt.Errorf("writing rows: %w", err)
	}
	_, err := w.Write(buffer.Buf)
	return err
}

// Columns returns the columns for an insert.
func (b *Block) Columns() []Column {
	all := make([]Column, len(b.columns))
	for i, c := range b.columns {
		all[i] = c.encoded()
	}
	return all
}

// UInt64 returns the values of a column of type UInt64. The caller must not change them.
func (b *Block) UInt64(column int) []uint64 { return *b.columns[column].data().(*proto.ColUInt64) }

// UInt8 returns the values of a column of type UInt8. The caller must not change them.
func (b *Block) UInt8(column int) []uint8 { return *b.columns[column].data().(*proto.ColUInt8) }

// Int64 returns the values of a column of type Int64. The caller must not change them.
func (b *Block) Int64(column int) []int64 { return *b.columns[column].data().(*proto.ColInt64) }

// Float64 returns the values of a column of type Float64. The caller must not change them.
func (b *Block) Float64(column int) []float64 { return *b.columns[column].data().(*proto.ColFloat64) }

// String returns the value of a column of type String in a row.
func (b *Block) String(column, row int) string {
	return b.columns[column].data().(*proto.ColStr).Row(row)
}

// Reset removes all rows and keeps the memory.
func (b *Block) Reset() {
	for _, c := range b.columns {
		c.data().Reset()
	}
}

// Names returns the names of the columns.
func (b *Block) Names() []string { return b.names }

// Reader reads a sequence of blocks.
type Reader struct {
	from    *proto.Reader
	block   *Block
	results proto.Results // columns of block
}

// NewReader returns a Reader of blocks with the given columns.
func NewReader(r io.Reader, columns []ch.ColumnNameAndType) *Reader {
	b := NewBlock(columns)
	results := make(proto.Results, len(b.columns))
	for i, c := range b.columns {
		results[i] = proto.ResultColumn{Name: b.names[i], Data: c.data()}
	}
	return &Reader{from: proto.NewReader(r), block: b, results: results}
}

// Next returns the next block, or io.EOF after the last one. The block is valid until the next
// call, which reads into the same memory.
func (r *Reader) Next() (*Block, error) {
	r.block.Reset()
	var head proto.Block
	err := head.DecodeRawBlock(r.from, 0, r.results)
	if errors.Is(err, io.EOF) && head.Columns == 0 {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("reading rows: %w", err)
	}
	return r.block, nil
}
