// Package spool is a queue on disk between something that must not be lost and
// anyone who takes it on: records are appended by many at a time, read in their order,
// and removed once they are said to be done.
//
// # On disk
//
// A spool is a folder of segments, files of numbered names. A segment is a header and
// then records, each its length, its checksum and its bytes. A segment is written
// once, by one process, from its beginning to its end; a process that starts begins a
// new one. What a crash left half written at a segment's end fails its checksum and is
// cut off when the spool is opened: nobody was told that it was written.
//
// # What holds
//
// A record is in the file when Append returns: it survives whatever happens to the
// process. It survives the machine, too, from the next sync on, which is before Append
// returns if Options.Sync is 0, and that much later at most otherwise. A sync that fails
// is an error (Failing), and what was not synced before it is written once more, to a new
// segment: the system may have marked as clean what never reached the disk, so a later
// sync of the same file would prove nothing. Records that
// wait for each other are written by one call (group commit): anyone who finds nobody
// writing writes for all that came meanwhile.
//
// Records are read at least once: how far they are done is noted now and then, and
// read again from there after a crash.
package spool

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// MaxRecord is the maximum number of bytes of a record.
	MaxRecord = 64 << 10

	defaultSegment = 8 << 20
	keptBuffer     = 256 << 10 // a larger buffer is not kept for the next batch
	// maxUnsynced bounds what is kept in memory until it is synced; beyond, an Append syncs.
	maxUnsynced = 4 << 20
)

// ErrClosed says that the spool was closed.
var ErrClosed = errors.New("spool: closed")

// Options say how large a spool gets and when it is synced.
type Options struct {
	// MaxBytes is how much may wait to be done; beyond, Full says so. Append itself
	// never refuses for it: what is under way then has its place.
	MaxBytes int64
	// SegmentBytes is the size at which a segment is ended; 0: 8 MiB.
	SegmentBytes int64
	// Sync is how long a record may be in the file before it is on the disk; 0: each
	// Append waits for that.
	Sync time.Duration
	Log  *slog.Logger // nil: slog.Default()

	fsync func(*os.File) error // nil: (*os.File).Sync; for tests
}

// Spool is a queue on disk. It is safe for concurrent use, except for Next and Done,
// which are one reader's.
type Spool struct {
	dir  string
	opts Options
	log  *slog.Logger
	lock *os.File

	mu        sync.Mutex // of what appends share
	gathering *batch     // what the next write takes; never nil
	writing   bool       // somebody writes, or has been told to
	closed    bool
	spare     []byte

	write  sync.Mutex // held while the active segment is written or ended
	over   bool       // Close has been there
	active *segment   // changed under both locks
	// unsynced is what the active segment has beyond what is on the disk for certain; under
	// write. It is kept only where syncs come later than the answers.
	unsynced []byte
	fsync    func(*os.File) error
	flushing sync.Mutex // one sync at a time; taken under write or alone

	segs     sync.Mutex
	segments []*segment // oldest first, the active one last
	reader   reader

	pending atomic.Int64 // bytes of records that are not done
	stored  atomic.Int64 // bytes of all segments
	failing atomic.Bool  // the last write or sync failed
	damaged atomic.Int64 // bytes that could not be read back
	unsaved atomic.Int64 // syncs that failed
	more    chan struct{}

	stop    chan struct{}
	syncing sync.WaitGroup
}

// batch is records that are written together.
type batch struct {
	bytes []byte
	done  chan struct{}
	lead  chan struct{} // holds a token when one of its waiters is to write it
	err   error         // set before done is closed
}

func newBatch(buffer []byte) *batch {
	return &batch{bytes: buffer[:0], done: make(chan struct{}), lead: make(chan struct{}, 1)}
}

// Open opens the spool in a folder, which it makes if it is not there. Only one
// process can have it open. What was left of earlier ones is read first. The caller
// closes it.
func Open(dir string, opts Options) (_ *Spool, err error) {
	if opts.SegmentBytes <= 0 {
		opts.SegmentBytes = defaultSegment
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	s := &Spool{
		dir: dir, opts: opts, log: opts.Log.With("component", "spool"), gathering: newBatch(nil),
		more: make(chan struct{}, 1), stop: make(chan struct{}), fsync: (*os.File).Sync,
	}
	if opts.fsync != nil {
		s.fsync = opts.fsync
	}
	if s.lock, err = lock(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.lock.Close()
		}
	}()
	if err := s.recover(); err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	if opts.Sync > 0 {
		s.syncing.Go(s.syncNowAndThen)
	}
	s.wake()
	return s, nil
}

// lock takes the folder for this process. The kernel lets go of it when the process
// ends, so a crash leaves nothing to clean up.
func lock(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("spool: locking: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("spool: %s is in use by another process", dir)
		}
		return nil, fmt.Errorf("spool: locking: %w", err)
	}
	return file, nil
}

// Append writes a record. When it returns nil the record is in the file, whatever
// happens to the process then. An error means that it is not.
func (s *Spool) Append(record []byte) error {
	if len(record) == 0 || len(record) > MaxRecord {
		return fmt.Errorf("spool: a record has %d bytes; from 1 to %d are allowed", len(record), MaxRecord)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	b := s.gathering
	b.bytes = frame(b.bytes, record)
	leads := !s.writing
	s.writing = true
	s.mu.Unlock()
	if !leads {
		select {
		case <-b.done:
			return b.err
		case <-b.lead:
		}
	}
	s.commit(b)
	return b.err
}

// commit writes what has been gathered, and has one of those that came meanwhile
// write theirs.
func (s *Spool) commit(b *batch) {
	s.mu.Lock()
	s.gathering = newBatch(s.spare)
	s.spare = nil
	s.mu.Unlock()

	b.err = s.writeOut(b.bytes)
	close(b.done)

	s.mu.Lock()
	if cap(b.bytes) <= keptBuffer {
		s.spare = b.bytes
	}
	b.bytes = nil
	if len(s.gathering.bytes) > 0 {
		s.gathering.lead <- struct{}{}
	} else {
		s.writing = false
	}
	s.mu.Unlock()
	s.wake()
}

// writeOut writes records to the active segment, all of them or none.
func (s *Spool) writeOut(bytes []byte) error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.over {
		return ErrClosed
	}
	err := s.room()
	if err == nil {
		err = s.active.write(bytes)
	}
	if err == nil {
		s.pending.Add(int64(len(bytes)))
		s.stored.Add(int64(len(bytes)))
		s.unsynced = append(s.unsynced, bytes...)
	}
	if err == nil && (s.opts.Sync <= 0 || len(s.unsynced) > maxUnsynced) {
		// After a failure nobody knows what is on the disk: the answer is no, and the
		// records may be read all the same.
		if err = s.syncActive(); err != nil && s.opts.Sync <= 0 {
			s.unsynced = s.unsynced[:0] // nobody was told that they are there
		}
	}
	s.say(err)
	if err != nil {
		return fmt.Errorf("spool: writing: %w", err)
	}
	return nil
}

// say notes whether the spool can be written, and logs when that changes.
func (s *Spool) say(err error) {
	failed := err != nil
	if s.failing.Swap(failed) == failed {
		return
	}
	if failed {
		s.log.Error("the spool cannot be written", "error", err)
	} else {
		s.log.Info("the spool can be written again")
	}
}

// Probe tries whether a spool that is failing can be written again. It costs nothing
// while it can.
func (s *Spool) Probe() {
	if !s.failing.Load() {
		return
	}
	s.write.Lock()
	defer s.write.Unlock()
	if s.over {
		return
	}
	err := s.begin()
	if err == nil {
		err = s.syncActive()
	}
	s.say(err)
}

// room ends the active segment if it is full or spoilt. The caller holds write.
func (s *Spool) room() error {
	if s.active != nil && !s.active.spoilt && s.active.size.Load() < s.opts.SegmentBytes {
		return nil
	}
	return s.begin()
}

// begin ends the active segment, if there is one, and begins the next, with what the last
// one may not have on the disk. The caller holds write, or is alone.
func (s *Spool) begin() error {
	var number uint64
	switch {
	case s.active != nil:
		number = s.active.number + 1
		if !s.active.spoilt {
			_ = s.syncActive() // logged; what is not synced goes on
		}
	case len(s.segments) > 0: // alone, as below
		number = max(s.reader.at.segment, s.segments[len(s.segments)-1].number) + 1
	default:
		number = s.reader.at.segment + 1
	}
	next, err := create(s.dir, number)
	if err != nil {
		return err
	}
	if err := s.repeat(next); err != nil {
		return errors.Join(err, next.file.Close(), os.Remove(next.path))
	}
	s.segs.Lock()
	defer s.segs.Unlock()
	if s.active != nil {
		s.active.ended.Store(true)
	}
	s.active = next
	s.segments = append(s.segments, next)
	s.stored.Add(next.size.Load())
	s.pending.Add(next.size.Load() - headerBytes)
	return nil
}

// wake tells the reader that there is more.
func (s *Spool) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Full reports whether so much waits that no more should be begun.
func (s *Spool) Full() bool { return s.pending.Load() >= s.opts.MaxBytes }

// SyncFailures is how many syncs failed. What they did not bring to the disk was written again.
func (s *Spool) SyncFailures() int64 { return s.unsaved.Load() }

// Failing reports whether the last write or sync failed. The next Append or Probe tries again.
func (s *Spool) Failing() bool { return s.failing.Load() }

// Pending is how many bytes of records wait to be done.
func (s *Spool) Pending() int64 { return s.pending.Load() }

// Stored is how many bytes the spool has on disk.
func (s *Spool) Stored() int64 { return s.stored.Load() }

// Damaged is how many bytes could not be read back: their records are lost.
func (s *Spool) Damaged() int64 { return s.damaged.Load() }

// Limit is Options.MaxBytes.
func (s *Spool) Limit() int64 { return s.opts.MaxBytes }

// Close syncs and closes the spool. What is not done stays for the next who opens it;
// Append and Next fail from here on. No call of Next may be under way.
func (s *Spool) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	s.syncing.Wait()
	s.write.Lock()
	defer s.write.Unlock()
	s.over = true
	s.segs.Lock()
	defer s.segs.Unlock()
	err := errors.Join(s.flush(s.active), s.reader.note(s.dir))
	for _, seg := range s.segments {
		err = errors.Join(err, seg.file.Close())
		if s.reader.at.left(seg) == 0 {
			err = errors.Join(err, os.Remove(seg.path))
		}
	}
	return errors.Join(err, s.lock.Close())
}
