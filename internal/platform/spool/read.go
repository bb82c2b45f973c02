package spool

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"
)

const (
	positionName  = "done"
	positionBytes = 20
	// saveInterval is the minimum interval between two writes of the position. Records after
	// the saved position are read again after a crash.
	saveInterval = time.Second
	// readBytes is the minimum that Next reads at once.
	readBytes = 2 * (frameBytes + MaxRecord)
)

// position is a position in the spool. All records before it are done.
type position struct {
	segment uint64
	offset  int64
}

// covers reports whether all of a segment is before the position.
func (p position) covers(s *segment) bool {
	return s.number < p.segment || s.number == p.segment && p.offset >= s.size.Load()
}

// remaining returns the bytes of a segment's records that are not before the position.
func (p position) remaining(s *segment) int64 {
	from := int64(headerBytes)
	switch {
	case s.number < p.segment:
		return 0
	case s.number == p.segment:
		from = max(p.offset, headerBytes)
	}
	return max(s.size.Load()-from, 0)
}

// reader is the state of the reader of the spool.
type reader struct {
	position position
	savedAt  time.Time
	buf      []byte
}

// load loads the saved position. It does nothing if there is none that can be read.
func (r *reader) load(dir string) {
	raw, err := os.ReadFile(filepath.Join(dir, positionName))
	if err != nil || len(raw) != positionBytes ||
		crc32.Checksum(raw[:16], castagnoli) != binary.LittleEndian.Uint32(raw[16:]) {
		return
	}
	r.position = position{segment: binary.LittleEndian.Uint64(raw), offset: int64(binary.LittleEndian.Uint64(raw[8:]))}
}

// save saves the position. If the file is lost or torn, records are read again.
func (r *reader) save(dir string) error {
	r.savedAt = time.Now()
	raw := binary.LittleEndian.AppendUint64(nil, r.position.segment)
	raw = binary.LittleEndian.AppendUint64(raw, uint64(r.position.offset))
	raw = binary.LittleEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli))
	if err := os.WriteFile(filepath.Join(dir, positionName), raw, 0o600); err != nil {
		return fmt.Errorf("spool: saving the position: %w", err)
	}
	return nil
}

// Batch is a batch of records that Next returned.
type Batch struct {
	Records [][]byte // valid until the next call of Next
	next    position
	bytes   int64
}

// Next waits for records that are not done and returns the first of them: at most limit
// records and about maxBytes bytes, but at least one record. Until Done is called it
// returns the same records again. It returns the error of ctx or of the disk.
func (s *Spool) Next(ctx context.Context, limit, maxBytes int) (*Batch, error) {
	for {
		seg := s.firstUnread()
		if seg != nil {
			b, err := s.readFrom(seg, limit, max(maxBytes, readBytes))
			if err != nil || len(b.Records) > 0 {
				return b, err
			}
			continue // the rest of this segment cannot be read
		}
		select {
		case <-s.notify:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// firstUnread returns the first segment with records that are not done, and removes the
// segments before it. It returns nil if there is none.
func (s *Spool) firstUnread() *segment {
	s.segmentsMu.Lock()
	defer s.segmentsMu.Unlock()
	for {
		seg := s.segments[0]
		ended := seg.ended.Load() // before the size: an ended segment does not grow
		switch {
		case !s.reader.position.covers(seg) && s.reader.position.remaining(seg) > 0:
			return seg
		case !ended:
			return nil
		}
		s.remove(seg)
	}
}

// remove removes the first segment, whose records are all done. The caller holds
// segmentsMu.
func (s *Spool) remove(seg *segment) {
	s.segments = s.segments[1:]
	s.stored.Add(-seg.size.Load())
	s.reader.position = position{segment: seg.number + 1}
	_ = seg.file.Close() // it was read to its end
	if err := os.Remove(seg.path); err != nil {
		s.log.Error("a completed segment of the spool cannot be removed", "error", err)
	}
}

// readFrom reads records of a segment from the position onwards.
func (s *Spool) readFrom(seg *segment, limit, maxBytes int) (*Batch, error) {
	start := s.reader.position
	if start.segment != seg.number {
		start = position{segment: seg.number}
	}
	start.offset = max(start.offset, headerBytes)
	end := seg.size.Load()
	size := min(int64(maxBytes), end-start.offset)
	if int64(cap(s.reader.buf)) < size {
		s.reader.buf = make([]byte, size)
	}
	buf := s.reader.buf[:size]
	if _, err := seg.file.ReadAt(buf, start.offset); err != nil {
		return nil, fmt.Errorf("spool: reading: %w", err)
	}
	b := &Batch{next: start}
	for len(b.Records) < limit {
		record, n := unframe(buf[b.bytes:])
		if n == 0 {
			break
		}
		b.Records = append(b.Records, record)
		b.bytes += int64(n)
	}
	b.next.offset += b.bytes
	if len(b.Records) == 0 { // the records were valid when they were written or recovered
		lost := end - start.offset
		s.log.Error(
			"DATA LOSS: a segment of the spool cannot be read any more", "segment", seg.number, "offset", start.offset, "bytes",
			lost,
		)
		s.damaged.Add(lost)
		s.pending.Add(-lost)
		s.segmentsMu.Lock()
		s.reader.position = position{segment: seg.number, offset: end}
		s.segmentsMu.Unlock()
	}
	return b, nil
}

// Done marks a batch as done. Next does not return it again, except after a crash.
func (s *Spool) Done(b *Batch) error {
	s.segmentsMu.Lock()
	defer s.segmentsMu.Unlock()
	s.reader.position = b.next
	s.pending.Add(-b.bytes)
	if time.Since(s.reader.savedAt) < saveInterval {
		return nil
	}
	return s.reader.save(s.dir)
}
