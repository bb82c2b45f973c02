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
	headerBytes = 16 // the magic and the segment's number
	frameBytes  = 8  // a record's length and its checksum
	suffix      = ".seg"
)

// castagnoli is what most machines compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame appends a record as it is in a segment.
func frame(to, record []byte) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(record)))
	sum := crc32.Update(crc32.Checksum(to[at:], castagnoli), castagnoli, record)
	return append(binary.LittleEndian.AppendUint32(to, sum), record...)
}

// unframe returns the first record of what is in a segment, and how many bytes it
// takes; 0: there is no whole one.
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

// segment is one file of records.
type segment struct {
	number uint64
	path   string
	file   *os.File
	size   atomic.Int64 // up to here it can be read
	ended  atomic.Bool  // nothing is written to it any more
	spoilt bool         // a failed write could not be taken back, or a sync failed
	lost   error        // of the first sync that failed; under Spool.flushing
}

func pathOf(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", number, suffix))
}

// create creates a segment and sees to it that its name is on the disk.
func create(dir string, number uint64) (*segment, error) {
	path := pathOf(dir, number)
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

// write adds bytes, all or none.
func (s *segment) write(bytes []byte) error {
	at := s.size.Load()
	if _, err := s.file.WriteAt(bytes, at); err != nil {
		// What is half there must not be followed by something whole.
		if undo := s.file.Truncate(at); undo != nil {
			s.spoilt = true
			return errors.Join(err, undo)
		}
		return err
	}
	s.size.Add(int64(len(bytes)))
	return nil
}

// recover opens what earlier processes left, and cuts off what is torn.
func (s *Spool) recover() error {
	s.reader.read(s.dir)
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	var numbers []uint64
	for _, entry := range entries {
		name, ours := strings.CutSuffix(entry.Name(), suffix)
		if number, err := strconv.ParseUint(name, 10, 64); ours && err == nil {
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
		s.pending.Add(s.reader.at.left(seg))
	}
	return nil
}

// recoverSegment takes up a segment, or removes it if there is nothing in it to do.
func (s *Spool) recoverSegment(number uint64) error {
	path := pathOf(s.dir, number)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	seg := &segment{number: number, path: path, file: file}
	seg.ended.Store(true)
	at := s.reader.at
	whole, boundary, err := scan(file, number, at)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if torn := info.Size() - whole; torn > 0 {
		s.log.Warn(
			"the end of a segment of the spool was not written to its end, and is cut off", "segment", number, "bytes", torn,
		)
		if err := file.Truncate(whole); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	seg.size.Store(whole)
	if number == at.segment && !boundary && at.offset < whole {
		s.reader.at.offset = headerBytes // the note is of another segment: read all again
	}
	if s.reader.at.past(seg) || whole <= headerBytes {
		return errors.Join(file.Close(), os.Remove(path))
	}
	s.segments = append(s.segments, seg)
	return nil
}

// scan returns up to where a segment is whole, 0 if not even its header is, and whether
// a record begins at the position.
func scan(file *os.File, number uint64, at position) (whole int64, boundary bool, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(file, 0, 1<<62), frameBytes+MaxRecord)
	header, err := in.Peek(headerBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, false, err
	}
	if len(header) < headerBytes || string(header[:len(magic)]) != magic ||
		binary.LittleEndian.Uint64(header[len(magic):]) != number {
		return 0, false, nil
	}
	_, _ = in.Discard(headerBytes) // it was peeked at
	for whole = headerBytes; ; {
		boundary = boundary || whole == at.offset
		bytes, err := in.Peek(frameBytes)
		if err == nil {
			bytes, err = in.Peek(frameBytes + int(min(binary.LittleEndian.Uint32(bytes), MaxRecord)))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		_, size := unframe(bytes)
		if size == 0 {
			return whole, boundary, nil
		}
		_, _ = in.Discard(size)
		whole += int64(size)
	}
}
