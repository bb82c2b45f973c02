// Package protobuf reads the fields of protobuf messages from a body's bytes, without copying and without a
// description of the messages (https://protobuf.dev/programming-guides/encoding/).
package protobuf

import (
	"encoding/binary"

	"github.com/livegraph/livegraph/ingest/parse/scan"
)

// Wire types of protobuf. A tag is a field's number, shifted by three bits, and its wire type.
const (
	Varint  = 0
	Fixed64 = 1
	Bytes   = 2
	Fixed32 = 5
)

// maxTag is the tag of the highest field number.
const maxTag = 1<<32 - 1

// Uvarint decodes the varint at b[i] and returns the index of its end, or scan.Failed.
func Uvarint(b []byte, i int) (value uint64, end int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	if i > len(b) {
		return 0, scan.Failed
	}
	value, n := binary.Uvarint(b[i:])
	if n <= 0 {
		return 0, scan.Failed
	}
	return value, i + n
}

// BytesField decodes the length at b[i] and returns the start and the end of the bytes
// after it. end is scan.Failed if b is too short.
func BytesField(b []byte, i int) (from, end int) {
	if i < len(b) && b[i] < 0x80 {
		if end = i + 1 + int(b[i]); end <= len(b) {
			return i + 1, end
		}
		return 0, scan.Failed
	}
	n, from := Uvarint(b, i)
	if from == scan.Failed || n > uint64(len(b)-from) {
		return 0, scan.Failed
	}
	return from, from + int(n)
}

// Field is a field of a message.
type Field struct {
	Tag   uint64
	Value uint64 // of a field of type Varint, Fixed64 or Fixed32
	Bytes []byte // of a field of type Bytes
}

// SkipField returns the index of the end of the field at b[i], or scan.Failed.
func SkipField(b []byte, i int) int {
	_, end := Next(b, i)
	return end
}

// Next returns the field at b[i] and the index of its end, or scan.Failed. It fails for groups, which are unused, and
// for tags that are longer than necessary, because such a tag could be that of a known field.
func Next(b []byte, i int) (f Field, end int) {
	start := i
	if f.Tag, i = Uvarint(b, i); i == scan.Failed || f.Tag < 1<<3 || f.Tag > maxTag || i-start > 1 && b[i-1] == 0 {
		return f, scan.Failed
	}
	switch f.Tag & 7 {
	case Varint:
		f.Value, i = Uvarint(b, i)
	case Fixed64:
		if i += 8; i > len(b) {
			return f, scan.Failed
		}
		f.Value = binary.LittleEndian.Uint64(b[i-8:])
	case Bytes:
		var from int
		if from, i = BytesField(b, i); i != scan.Failed {
			f.Bytes = b[from:i:i]
		}
	case Fixed32:
		if i += 4; i > len(b) {
			return f, scan.Failed
		}
		f.Value = uint64(binary.LittleEndian.Uint32(b[i-4:]))
	default:
		return f, scan.Failed
	}
	return f, i
}
