// Package native encodes rows in ClickHouse's format Native
// (https://clickhouse.com/docs/interfaces/formats/Native), without copying the columns where
// possible, and reads blocks in this format.
package native

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/ClickHouse/ch-go/proto"
	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// Column is a column of rows to be inserted, without its name and type.
type Column interface {
	// sections appends the column to a block in ClickHouse's format Native. The sections may
	// refer to the memory of the column.
	sections(block []section) []section
	// appendTo appends the rows to column i of a batch.
	appendTo(batch driver.Batch, i int) error
}

// Fixed is a column of numbers of one size. Their memory has the format of the protocol: all
// supported platforms are little-endian, as the protocol is.
type Fixed[W uint8 | uint16 | uint32 | uint64 | int64 | float64] []W

// raw returns the memory of the numbers.
func (c Fixed[W]) raw() []byte {
	var element W
	memory := unsafe.Pointer(unsafe.SliceData(c))                            //nolint:gosec // G103: memory of the numbers
	return unsafe.Slice((*byte)(memory), int(unsafe.Sizeof(element))*len(c)) //nolint:gosec // G103: its length in bytes
}

func (c Fixed[W]) sections(block []section) []section {
	raw := c.raw()
	for len(raw) > chunkBytes {
		block, raw = append(block, section{raw: raw[:chunkBytes]}), raw[chunkBytes:]
	}
	return append(block, section{raw: raw})
}

// appendTo copies the memory once, in 4 ns a row. The driver's Append would copy a slice value
// by value, in 40 ns a row, and would interpret an int64 as milliseconds.
func (c Fixed[W]) appendTo(batch driver.Batch, i int) error {
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
	return decodeInto(batch, i, &Body{sections: r.sections(nil)}, r.Len())
}

// Strings is a column of strings, LowCardinality or not.
type Strings []string

func (c Strings) sections(block []section) []section {
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

func (c Strings) appendTo(batch driver.Batch, i int) error {
	return batch.Column(i).Append([]string(c))
}

// UUIDs is a column of ids. Each id is encoded as two little-endian words, the higher one
// first.
type UUIDs []uuid.UUID

func (c UUIDs) sections(block []section) []section {
	encoded := make([]byte, 0, 16*len(c))
	for i := range c {
		encoded = binary.LittleEndian.AppendUint64(encoded, binary.BigEndian.Uint64(c[i][:8]))
		encoded = binary.LittleEndian.AppendUint64(encoded, binary.BigEndian.Uint64(c[i][8:]))
	}
	return append(block, section{raw: encoded})
}

func (c UUIDs) appendTo(batch driver.Batch, i int) error {
	return batch.Column(i).Append([]uuid.UUID(c))
}

// Maps is a column of maps of strings. It is encoded as the end offset of each map, followed by
// all keys and all values.
type Maps []*Pairs

func (c Maps) sections(block []section) []section {
	var (
		ends         = make(Fixed[uint64], 0, len(c))
		keys, values Strings
	)
	for _, m := range c {
		for _, pair := range *m {
			keys, values = append(keys, pair.Key), append(values, pair.Value)
		}
		ends = append(ends, uint64(len(keys)))
	}
	return values.sections(keys.sections(ends.sections(block)))
}

func (c Maps) appendTo(batch driver.Batch, i int) error {
	return batch.Column(i).Append([]*Pairs(c))
}

// encodeBlock returns the sections of a block of rows in ClickHouse's format Native:
// https://clickhouse.com/docs/interfaces/formats/Native.
func encodeBlock(columns []ch.ColumnNameAndType, rows int, data []Column) []section {
	head := binary.AppendUvarint(nil, uint64(len(columns)))
	head = binary.AppendUvarint(head, uint64(rows))
	var block []section
	for i, c := range columns {
		for _, text := range []string{c.Name, transferType(c.Type)} {
			head = append(binary.AppendUvarint(head, uint64(len(text))), text...)
		}
		block = data[i].sections(append(block, section{raw: head}))
		head = nil
	}
	return block
}

// transferType returns the type in which a column is sent. LowCardinality(T) is sent as T, which
// ClickHouse converts.
func transferType(kind string) string {
	if inner, ok := strings.CutPrefix(kind, "LowCardinality("); ok {
		return strings.TrimSuffix(inner, ")")
	}
	return kind
}

// Fill appends columns to a batch of the driver.
func Fill(batch driver.Batch, data []Column) error {
	for i, column := range data {
		if err := column.appendTo(batch, i); err != nil {
			return err
		}
	}
	return nil
}
