package backup

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxFieldBytes is the maximum length of a key, a value or a header. It is larger than the record
// limit of every topic.
const maxFieldBytes = 64 << 20

// A record is encoded as varints and byte strings: partition, offset, timestamp in milliseconds
// (signed), key, value, number of headers, and the name and value of each header. A byte string is
// its length plus one, followed by its bytes. Zero means nil.

// appendRecord appends the encoding of r to b.
func appendRecord(b []byte, r *kgo.Record) []byte {
	b = binary.AppendUvarint(b, uint64(r.Partition))
	b = binary.AppendUvarint(b, uint64(r.Offset))
	b = binary.AppendVarint(b, r.Timestamp.UnixMilli())
	b = appendBytes(appendBytes(b, r.Key), r.Value)
	b = binary.AppendUvarint(b, uint64(len(r.Headers)))
	for _, h := range r.Headers {
		b = appendBytes(appendBytes(b, []byte(h.Key)), h.Value)
	}
	return b
}

func appendBytes(b, field []byte) []byte {
	if field == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(field))+1), field...)
}

// recordReader decodes records.
type recordReader struct {
	reader *bufio.Reader
	err    error
}

func newRecordReader(r io.Reader) *recordReader {
	return &recordReader{reader: bufio.NewReaderSize(r, copyBytes)}
}

// next returns the next record, or io.EOF after the last one.
func (d *recordReader) next() (*kgo.Record, error) {
	if _, err := d.reader.Peek(1); errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	r := &kgo.Record{
		Partition: int32(d.uvarint()), Offset: int64(d.uvarint()), Timestamp: time.UnixMilli(d.varint()), Key: d.bytes(),
		Value: d.bytes(),
	}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(d.bytes()), Value: d.bytes()})
	}
	if d.err != nil {
		return nil, fmt.Errorf("reading a record: %w", d.err)
	}
	return r, nil
}

// uvarint reads an unsigned varint. It returns 0 after an error.
func (d *recordReader) uvarint() uint64 {
	if d.err != nil {
		return 0
	}
	var n uint64
	n, d.err = binary.ReadUvarint(d.reader)
	return n
}

func (d *recordReader) varint() int64 {
	if d.err != nil {
		return 0
	}
	var n int64
	n, d.err = binary.ReadVarint(d.reader)
	return n
}

func (d *recordReader) bytes() []byte {
	n := d.uvarint()
	switch {
	case d.err != nil || n == 0:
		return nil
	case n-1 > maxFieldBytes:
		d.err = fmt.Errorf("a field of %d bytes", n-1)
		return nil
	}
	// The buffer grows as bytes are read, so that an invalid length does not allocate memory.
	var field bytes.Buffer
	field.Grow(int(min(n-1, copyBytes)))
	_, d.err = io.CopyN(&field, d.reader, int64(n-1))
	return field.Bytes()
}
