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

// maxText bounds a key, a value or a header that is read: more than any topic of ours
// takes.
const maxText = 64 << 20

// A record is written as unsigned varints and texts: partition, offset, its time in
// milliseconds, key, value, how many headers, and each header's name and value. A text
// is its length and one, and its bytes; a length of zero is that of none at all.

// appendRecord writes a record behind b.
func appendRecord(b []byte, r *kgo.Record) []byte {
	b = binary.AppendUvarint(b, uint64(r.Partition))
	b = binary.AppendUvarint(b, uint64(r.Offset))
	b = binary.AppendVarint(b, r.Timestamp.UnixMilli())
	b = appendText(appendText(b, r.Key), r.Value)
	b = binary.AppendUvarint(b, uint64(len(r.Headers)))
	for _, h := range r.Headers {
		b = appendText(appendText(b, []byte(h.Key)), h.Value)
	}
	return b
}

func appendText(b, text []byte) []byte {
	if text == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(text))+1), text...)
}

// recordReader reads records one after the other.
type recordReader struct {
	from *bufio.Reader
	err  error
}

func newRecordReader(r io.Reader) *recordReader {
	return &recordReader{from: bufio.NewReaderSize(r, copyBytes)}
}

// next returns the next record, io.EOF behind the last one.
func (d *recordReader) next() (*kgo.Record, error) {
	if _, err := d.from.Peek(1); errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	r := &kgo.Record{
		Partition: int32(d.number()), Offset: int64(d.number()), Timestamp: time.UnixMilli(d.signed()), Key: d.text(),
		Value: d.text(),
	}
	for n := d.number(); n > 0 && d.err == nil; n-- {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(d.text()), Value: d.text()})
	}
	if d.err != nil {
		return nil, fmt.Errorf("reading a record: %w", d.err)
	}
	return r, nil
}

// number reads a number; zero after a failure.
func (d *recordReader) number() uint64 {
	if d.err != nil {
		return 0
	}
	var n uint64
	n, d.err = binary.ReadUvarint(d.from)
	return n
}

func (d *recordReader) signed() int64 {
	if d.err != nil {
		return 0
	}
	var n int64
	n, d.err = binary.ReadVarint(d.from)
	return n
}

func (d *recordReader) text() []byte {
	n := d.number()
	switch {
	case d.err != nil || n == 0:
		return nil
	case n-1 > maxText:
		d.err = fmt.Errorf("a text of %d bytes", n-1)
		return nil
	}
	// A length that is nonsense takes no memory: what is there is read piece by piece.
	var text bytes.Buffer
	text.Grow(int(min(n-1, copyBytes)))
	_, d.err = io.CopyN(&text, d.from, int64(n-1))
	return text.Bytes()
}
