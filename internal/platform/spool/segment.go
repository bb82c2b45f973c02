package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/livegraph/livegraph/internal/platform/durable"
)

const (
	magic       = "LGSPOOL1"
	headerBytes = 16 // the magic and the number of the segment
	frameBytes  = 8  // the length of a record and its checksum
	suffix      = ".seg"
)

// castagnoli is the polynomial that most processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame appends a record with its length and checksum.
func frame(b, record []byte) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(record)))
	sum := crc32.Update(crc32.Checksum(b[start:], castagnoli), castagnoli, record)
	return append(binary.LittleEndian.AppendUint32(b, sum), record...)
}

// unframe returns the first record and the size of its frame. size is 0 if the record is
// incomplete or invalid.
func unframe(bytes []byte) (record []byte, size int) {
	if len(bytes) < frameBytes {
		return nil, 0
	}
	n := int(binary.LittleEndian.Uint32(bytes))
	if n == 0 || n > MaxRecord || len(bytes) < frameBytes+n {
		return nil, 0
	}
	record = bytes[frameBytes : frameBytes+n]
	if crc32.Update(crc32.Checksum(bytes[:4], castagnoli), castagnoli, record) != binary.LittleEndian.Uint32(bytes[4:]) {
		return nil, 0
	}
	return record, frameBytes + n
}

// segment is a file of records.
type segment struct {
	number  uint64
	path    string
	file    *os.File
	size    atomic.Int64 // bytes that can be read
	ended   atomic.Bool  // it is not written to any more
	broken  bool         // a failed write could not be undone, or a sync failed
	syncErr error        // error of the first failed sync; guarded by Spool.syncMu
}

func segmentPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", number, suffix))
}

// create creates a segment. Its name is durable when create returns.
func create(dir string, number uint64) (*segment, error) {
	path := segmentPath(dir, number)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	s := &segment{number: number, path: path, file: file}
	err = s.write(binary.LittleEndian.AppendUint64([]byte(magic), number))
	if err == nil {
		err = durable.SyncDir(dir)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	return s, nil
}

// write appends bytes, all or none.
func (s *segment) write(bytes []byte) error {
	offset := s.size.Load()
	if _, err := s.file.WriteAt(bytes, offset); err != nil {
		// Nothing may be written after a partial record.
		if truncateErr := s.file.Truncate(offset); truncateErr != nil {
			s.broken = true
			return errors.Join(err, truncateErr)
		}
		return err
	}
	s.size.Add(int64(len(bytes)))
	return nil
}

// recover opens the segments of earlier processes and truncates torn ends.
func (s *Spool) recover() error {
	s.reader.load(s.dir)
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	var numbers []uint64
	for _, entry := range entries {
		name, isSegment := strings.CutSuffix(entry.Name(), suffix)
		if number, err := strconv.ParseUint(name, 10, 64); isSegment && err == nil {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		if err := s.recoverSegment(number); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
	}
	for _, seg := range s.segments {
		s.stored.Add(seg.size.Load())
		s.pending.Add(s.reader.position.remaining(seg))
	}
	return nil
}

// recoverSegment opens a segment, or removes it if all its records are done.
func (s *Spool) recoverSegment(number uint64) error {
	path := segmentPath(s.dir, number)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	seg := &segment{number: number, path: path, file: file}
	seg.ended.Store(true)
	start := s.reader.position
	valid, boundary, err := scan(file, number, start)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if torn := info.Size() - valid; torn > 0 {
		s.log.Warn(
			"the end of a segment of the spool is incomplete and is cut off", "segment", number, "bytes", torn,
		)
		if err := file.Truncate(valid); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	seg.size.Store(valid)
	if number == start.segment && !boundary && start.offset < valid {
		s.reader.position.offset = headerBytes // not the start of a record: read all again
	}
	if s.reader.position.covers(seg) || valid <= headerBytes {
		return errors.Join(file.Close(), os.Remove(path))
	}
	s.segments = append(s.segments, seg)
	return nil
}

// scan returns the length of the valid part of a segment, 0 if its header is invalid, and
// whether a record starts at the position.
func scan(file *os.File, number uint64, start position) (valid int64, boundary bool, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(file, 0, 1<<62), frameBytes+MaxRecord)
	header, err := in.Peek(headerBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, false, err
	}
	if len(header) < headerBytes || string(header[:len(magic)]) != magic ||
		binary.LittleEndian.Uint64(header[len(magic):]) != number {
		return 0, false, nil
	}
	_, _ = in.Discard(headerBytes) // Peek has read it
	for valid = headerBytes; ; {
		boundary = boundary || valid == start.offset
		bytes, err := in.Peek(frameBytes)
		if err == nil {
			bytes, err = in.Peek(frameBytes + int(min(binary.LittleEndian.Uint32(bytes), MaxRecord)))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		_, size := unframe(bytes)
		if size == 0 {
			return valid, boundary, nil
		}
		_, _ = in.Discard(size)
		valid += int64(size)
	}
}
