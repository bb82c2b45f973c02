// Package recordbatch encodes records as a record batch of Kafka's protocol. franz-go has no function for one record
// batch that a broker appends completely or not at all.
package recordbatch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Layout of a record batch, see https://kafka.apache.org/documentation/#recordbatch.
const (
	batchMagic      = 2
	batchLengthAt   = 8  // field Length
	batchLengthFrom = 12 // the first byte that it counts
	batchCRCAt      = 17 // field CRC
	batchCRCFrom    = 21 // the first byte that it covers
)

// recordOverhead is the maximum of the bytes that the encoding adds to a record or header.
const recordOverhead = 64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MaxBytes returns an upper bound of a record's encoded size in a batch.
func MaxBytes(r *kgo.Record) int64 {
	size := int64(len(r.Key) + len(r.Value) + recordOverhead)
	for _, h := range r.Headers {
		size += int64(len(h.Key) + len(h.Value) + recordOverhead)
	}
	return size
}

// Encode encodes records as a batch. now is the timestamp of all records, in milliseconds since
// the Unix epoch. The batch is not idempotent: a reader recognizes a duplicate by its sequence.
func Encode(records []*kgo.Record, now int64, compressor kgo.Compressor) ([]byte, error) {
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: batchMagic,
		LastOffsetDelta: int32(len(records) - 1), NumRecords: int32(len(records)),
		FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
	}
	size := int64(0)
	for _, r := range records {
		size += MaxBytes(r)
	}
	b.Records = make([]byte, 0, size)
	var scratch []byte
	for i, r := range records {
		b.Records, scratch = appendRecord(b.Records, scratch, r, int32(i))
	}
	if compressor != nil {
		var buf bytes.Buffer
		buf.Grow(len(b.Records) / 2)
		compressed, codec := compressor.Compress(&buf, b.Records)
		if codec < 0 {
			return nil, fmt.Errorf("compressing %d records failed", len(records))
		}
		if len(compressed) < len(b.Records) {
			b.Records, b.Attributes = compressed, int16(codec)
		}
	}
	encoded := b.AppendTo(make([]byte, 0, len(b.Records)+recordOverhead))
	binary.BigEndian.PutUint32(encoded[batchLengthAt:], uint32(len(encoded)-batchLengthFrom))
	binary.BigEndian.PutUint32(encoded[batchCRCAt:], crc32.Checksum(encoded[batchCRCFrom:], castagnoli))
	return encoded, nil
}

// appendRecord appends the record with the given index in its batch to dst. It returns dst and the
// scratch buffer for the next call.
func appendRecord(dst, scratch []byte, r *kgo.Record, index int32) (out, reusable []byte) {
	record := kmsg.Record{OffsetDelta: index, Key: r.Key, Value: r.Value, Headers: make([]kmsg.Header, len(r.Headers))}
	for i, h := range r.Headers {
		record.Headers[i] = kmsg.Header(h)
	}
	scratch = record.AppendTo(scratch[:0]) // starts with a length of one byte, whose value is 0
	encoded := scratch[1:]
	return append(kbin.AppendVarint(dst, int32(len(encoded))), encoded...), scratch
}
