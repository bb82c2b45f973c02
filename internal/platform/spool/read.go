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
	noteName  = "done"
	noteBytes = 20
	// noteEvery is how often it is noted how far records are done: what came since is
	// read again after a crash.
	noteEvery = time.Second
	// readBytes is the least that Next reads at once.
	readBytes = 2 * (frameBytes + MaxRecord)
)

// position is a place in the spool: everything before is done.
type position struct {
	segment uint64
	offset  int64
}

// past reports whether everything of a segment is before the position.
func (p position) past(s *segment) bool {
	return s.number < p.segment || s.number == p.segment && p.offset >= s.size.Load()
}

// left is how many bytes of a segment's records are not before the position.
func (p position) left(s *segment) int64 {
	from := int64(headerBytes)
	switch {
	case s.number < p.segment:
		return 0
	case s.number == p.segment:
		from = max(p.offset, headerBytes)
	}
	return max(s.size.Load()-from, 0)
}

// reader is how far records are done.
type reader struct {
	at    position
	noted time.Time
	buf   []byte
}

// read takes up what was noted; nothing when there is no note that can be read.
func (r *reader) read(dir string) {
	raw, err := os.ReadFile(filepath.Join(dir, noteName))
	if err != nil || len(raw) != noteBytes ||
		crc32.Checksum(raw[:16], castagnoli) != binary.LittleEndian.Uint32(raw[16:]) {
		return
	}
	r.at = position{segment: binary.LittleEndian.Uint64(raw), offset: int64(binary.LittleEndian.Uint64(raw[8:]))}
}

// note notes it. A note that is lost, or torn, has records read again.
func (r *reader) note(dir string) error {
	r.noted = time.Now()
	raw := binary.LittleEndian.AppendUint64(nil, r.at.segment)
	raw = binary.LittleEndian.AppendUint64(raw, uint64(r.at.offset))
	raw = binary.LittleEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli))
	if err := os.WriteFile(filepath.Join(dir, noteName), raw, 0o600); err != nil {
		return fmt.Errorf("spool: noting what is done: %w", err)
	}
	return nil
}

// Batch is records that were read.
type Batch struct {
	Records [][]byte // valid until the next call of Next
	next    position
	bytes   int64
}

// Next waits for records that are not done and gives the first of them, at most so
// many and about so many bytes, but one at least. Until Done is called it gives the
// same again. The error is ctx's, or of the disk.
func (s *Spool) Next(ctx context.Context, most, bytes int) (*Batch, error) {
	for {
		seg := s.unread()
		if seg != nil {
			b, err := s.readFrom(seg, most, max(bytes, readBytes))
			if err != nil || len(b.Records) > 0 {
				return b, err
			}
			continue // nothing that can be read is left in this one
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// unread returns the first segment that has records to do, and removes those before;
// nil: there is none.
func (s *Spool) unread() *segment {
	s.segs.Lock()
	defer s.segs.Unlock()
	for {
		seg := s.segments[0]
		ended := seg.ended.Load() // before the size: an ended segment does not grow
		switch {
		case !s.reader.at.past(seg) && s.reader.at.left(seg) > 0:
			return seg
		case !ended:
			return nil
		}
		s.remove(seg)
	}
}

// remove takes away the first segment, of which nothing is left to do. The caller
// holds segs.
func (s *Spool) remove(seg *segment) {
	s.segments = s.segments[1:]
	s.stored.Add(-seg.size.Load())
	s.reader.at = position{segment: seg.number + 1}
	_ = seg.file.Close() // it was read to its end
	if err := os.Remove(seg.path); err != nil {
		s.log.Error("a segment of the spool that is done cannot be removed", "error", err)
	}
}

// readFrom reads records of a segment from the position on.
func (s *Spool) readFrom(seg *segment, most, bytes int) (*Batch, error) {
	at := s.reader.at
	if at.segment != seg.number {
		at = position{segment: seg.number}
	}
	at.offset = max(at.offset, headerBytes)
	end := seg.size.Load()
	size := min(int64(bytes), end-at.offset)
	if int64(cap(s.reader.buf)) < size {
		s.reader.buf = make([]byte, size)
	}
	buf := s.reader.buf[:size]
	if _, err := seg.file.ReadAt(buf, at.offset); err != nil {
		return nil, fmt.Errorf("spool: reading: %w", err)
	}
	b := &Batch{next: at}
	for len(b.Records) < most {
		record, n := unframe(buf[b.bytes:])
		if n == 0 {
			break
		}
		b.Records = append(b.Records, record)
		b.bytes += int64(n)
	}
	b.next.offset += b.bytes
	if len(b.Records) == 0 { // it was whole when it was written or recovered
		lost := end - at.offset
		s.log.Error(
			"DATA LOSS: a segment of the spool cannot be read any more", "segment", seg.number, "offset", at.offset, "bytes",
			lost,
		)
		s.damaged.Add(lost)
		s.pending.Add(-lost)
		s.segs.Lock()
		s.reader.at = position{segment: seg.number, offset: end}
		s.segs.Unlock()
	}
	return b, nil
}

// Done reports that a batch is done: it is not given again, but perhaps after a crash.
func (s *Spool) Done(b *Batch) error {
	s.segs.Lock()
	defer s.segs.Unlock()
	s.reader.at = b.next
	s.pending.Add(-b.bytes)
	if time.Since(s.reader.noted) < noteEvery {
		return nil
	}
	return s.reader.note(s.dir)
}
