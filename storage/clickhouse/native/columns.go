// Package native encodes rows in ClickHouse's format Native
// (https://clickhouse.com/docs/interfaces/formats/Native), from the memory of their columns
// where that is possible, and reads blocks of it.
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

// Column is the column of many rows on its way into ClickHouse, without its name
// and type.
type Column interface {
	// sections appends it to a block as ClickHouse's format Native has it. They may be its
	// own memory.
	sections(block []section) []section
	// appendTo puts it into column i of a batch.
	appendTo(batch driver.Batch, i int) error
}

// Fixed is a column of numbers of one size, which are the same bytes in memory as on the
// wire: all machines we build for are little-endian like the protocol.
type Fixed[W uint8 | uint16 | uint32 | uint64 | int64 | float64] []W

// raw returns the memory of the numbers.
func (c Fixed[W]) raw() []byte {
	var one W
	memory := unsafe.Pointer(unsafe.SliceData(c))                        //nolint:gosec // G103: that of the numbers
	return unsafe.Slice((*byte)(memory), int(unsafe.Sizeof(one))*len(c)) //nolint:gosec // G103: of their length
}

func (c Fixed[W]) sections(block []section) []section {
	raw := c.raw()
	for len(raw) > chunkBytes {
		block, raw = append(block, section{raw: raw[:chunkBytes]}), raw[chunkBytes:]
	}
	return append(block, section{raw: raw})
}

// appendTo is one copy of memory. The driver's own Append takes a slice value by value,
// and an int64 for milliseconds: 40 ns a row instead of 4.
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
	return decodeInto(batch, i, &Body{rest: r.sections(nil)}, r.Len())
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

// UUIDs is a column of ids. Each is two words, the higher one first, and of each the lowest
// byte first.
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

// Maps is a column of maps of strings: where each ends, all keys, all values.
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

// blockOf returns the block of rows of the columns in ClickHouse's format Native:
// https://clickhouse.com/docs/interfaces/formats/Native.
func blockOf(columns []ch.ColumnNameAndType, rows int, data []Column) []section {
	head := binary.AppendUvarint(nil, uint64(len(columns)))
	head = binary.AppendUvarint(head, uint64(rows))
	var block []section
	for i, c := range columns {
		for _, text := range []string{c.Name, plain(c.Type)} {
			head = append(binary.AppendUvarint(head, uint64(len(text))), text...)
		}
		block = data[i].sections(append(block, section{raw: head}))
		head = nil
	}
	return block
}

// plain returns the type in which a column is sent: LowCardinality(T) goes as T, which
// ClickHouse converts.
func plain(kind string) string {
	if inner, ok := strings.CutPrefix(kind, "LowCardinality("); ok {
		return strings.TrimSuffix(inner, ")")
	}
	return kind
}

// Fill puts the columns into a batch of the driver.
func Fill(batch driver.Batch, data []Column) error {
	for i, column := range data {
		if err := column.appendTo(batch, i); err != nil {
			return err
		}
	}
	return nil
}
