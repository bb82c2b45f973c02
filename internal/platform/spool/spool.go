// Package spool implements a durable queue on disk. Several goroutines append records
// concurrently. One reader reads them in order and marks them as done, which removes them.
//
// # On disk
//
// A spool is a folder of segments, which are files with numbered names. A segment is a
// header followed by records, each with its length and checksum. A segment is written
// sequentially, once, by one process. Each process starts a new segment. A record that a
// crash left incomplete at the end of a segment has an invalid checksum. It is cut off when
// the spool is opened; it was never acknowledged.
//
// # Guarantees
//
// When Append returns, the record is in the file and survives a crash of the process. It
// survives a crash of the machine after the next sync: before Append returns if
// Options.Sync is 0, and otherwise at most Options.Sync later. A failed sync is an error
// (Failing), and the records that were not synced are written again to a new segment,
// because the system may have marked lost pages as clean, so that a later successful sync of
// the same file would not prove that they are on the disk. Concurrent records are written by
// one call (group commit): a goroutine that finds no other writing writes all waiting
// records.
//
// Records are read at least once. The position of the reader is saved periodically, and
// records after it are read again after a crash.
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

	defaultSegment  = 8 << 20
	maxReusedBuffer = 256 << 10 // larger buffers are not reused for the next batch
	// maxUnsynced is the maximum of unsynced bytes kept in memory; beyond, Append syncs.
	maxUnsynced = 4 << 20
)

// ErrClosed reports that the spool is closed.
var ErrClosed = errors.New("spool: closed")

// Options are the options of Open.
type Options struct {
	// MaxBytes is the limit of pending bytes above which Full returns true. Append does
	// not enforce it, so that requests in progress can complete.
	MaxBytes int64
	// SegmentBytes is the size at which a new segment is started; 0: 8 MiB.
	SegmentBytes int64
	// Sync is the interval between syncs of the file to the disk; 0: each Append syncs.
	Sync time.Duration
	Log  *slog.Logger // nil: slog.Default()

	fsync func(*os.File) error // nil: (*os.File).Sync; for tests
}

// Spool is a queue on disk. It is safe for concurrent use, except that only one goroutine
// may call Next and Done.
type Spool struct {
	dir  string
	opts Options
	log  *slog.Logger
	lock *os.File

	mu          sync.Mutex // guards the fields that appends share
	nextBatch   *batch     // records of the next write; never nil
	writing     bool       // a goroutine is writing, or has been chosen to
	closed      bool
	spareBuffer []byte

	writeMu     sync.Mutex // held while the active segment is written or replaced
	writeClosed bool       // set by Close
	active      *segment   // changed under both locks
	// unsynced has the bytes of the active segment that may not be on the disk yet; guarded by
	// writeMu. It is empty between appends if each Append syncs.
	unsynced []byte
	fsync    func(*os.File) error
	syncMu   sync.Mutex // held during a sync; locked with or without writeMu held

	segmentsMu sync.Mutex
	segments   []*segment // oldest first, the active one last
	reader     reader

	pending      atomic.Int64 // bytes of records that are not done
	stored       atomic.Int64 // bytes of all segments
	failing      atomic.Bool  // the last write or sync failed
	damaged      atomic.Int64 // bytes that could not be read back
	syncFailures atomic.Int64 // syncs that failed
	notify       chan struct{}

	stop       chan struct{}
	background sync.WaitGroup
}

// batch is a group of records that are written together.
type batch struct {
	bytes []byte
	done  chan struct{}
	lead  chan struct{} // has a token when one of the waiters must write the batch
	err   error         // set before done is closed
}

func newBatch(buffer []byte) *batch {
	return &batch{bytes: buffer[:0], done: make(chan struct{}), lead: make(chan struct{}, 1)}
}

// Open opens the spool in a folder, which it creates if necessary. Only one process can
// have it open. Records of earlier processes are read first. The caller must close the
// spool.
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
		dir: dir, opts: opts, log: opts.Log.With("component", "spool"), nextBatch: newBatch(nil),
		notify: make(chan struct{}, 1), stop: make(chan struct{}), fsync: (*os.File).Sync,
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
	if err := s.startSegment(); err != nil {
		return nil, err
	}
	if opts.Sync > 0 {
		s.background.Go(s.syncPeriodically)
	}
	s.wake()
	return s, nil
}

// lock locks the folder for this process. The kernel releases the lock when the process
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

// Append writes a record. If it returns nil, the record is in the file and survives a crash
// of the process. If it returns an error, the record is not acknowledged.
func (s *Spool) Append(record []byte) error {
	if len(record) == 0 || len(record) > MaxRecord {
		return fmt.Errorf("spool: a record has %d bytes; from 1 to %d are allowed", len(record), MaxRecord)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	b := s.nextBatch
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

// commit writes a batch and then wakes one of the waiters of the next batch to write that
// one.
func (s *Spool) commit(b *batch) {
	s.mu.Lock()
	s.nextBatch = newBatch(s.spareBuffer)
	s.spareBuffer = nil
	s.mu.Unlock()

	b.err = s.writeOut(b.bytes)
	close(b.done)

	s.mu.Lock()
	if cap(b.bytes) <= maxReusedBuffer {
		s.spareBuffer = b.bytes
	}
	b.bytes = nil
	if len(s.nextBatch.bytes) > 0 {
		s.nextBatch.lead <- struct{}{}
	} else {
		s.writing = false
	}
	s.mu.Unlock()
	s.wake()
}

// writeOut writes records to the active segment, all or none.
func (s *Spool) writeOut(bytes []byte) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.writeClosed {
		return ErrClosed
	}
	err := s.ensureSegment()
	if err == nil {
		err = s.active.write(bytes)
	}
	if err == nil {
		s.pending.Add(int64(len(bytes)))
		s.stored.Add(int64(len(bytes)))
		s.unsynced = append(s.unsynced, bytes...)
	}
	if err == nil && (s.opts.Sync <= 0 || len(s.unsynced) > maxUnsynced) {
		// After a failed sync it is unknown what is on the disk. Append returns an error,
		// but the records may still be read.
		if err = s.syncActive(); err != nil && s.opts.Sync <= 0 {
			s.unsynced = s.unsynced[:0] // they are not acknowledged
		}
	}
	s.setFailing(err)
	if err != nil {
		return fmt.Errorf("spool: writing: %w", err)
	}
	return nil
}

// setFailing records whether the spool can be written, and logs a change.
func (s *Spool) setFailing(err error) {
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

// Probe checks whether a failing spool can be written again. It does nothing if the spool is
// not failing.
func (s *Spool) Probe() {
	if !s.failing.Load() {
		return
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.writeClosed {
		return
	}
	err := s.startSegment()
	if err == nil {
		err = s.syncActive()
	}
	s.setFailing(err)
}

// ensureSegment starts a new segment if the active one is full or broken. The caller holds
// writeMu.
func (s *Spool) ensureSegment() error {
	if s.active != nil && !s.active.broken && s.active.size.Load() < s.opts.SegmentBytes {
		return nil
	}
	return s.startSegment()
}

// startSegment ends the active segment, if there is one, and starts a new one with the records
// that may not be on the disk. The caller holds writeMu, or is Open.
func (s *Spool) startSegment() error {
	var number uint64
	switch {
	case s.active != nil:
		number = s.active.number + 1
		if !s.active.broken {
			_ = s.syncActive() // errors are logged; unsynced records are written to the next segment
		}
	case len(s.segments) > 0: // called by Open, as below
		number = max(s.reader.position.segment, s.segments[len(s.segments)-1].number) + 1
	default:
		number = s.reader.position.segment + 1
	}
	next, err := create(s.dir, number)
	if err != nil {
		return err
	}
	if err := s.rewriteUnsynced(next); err != nil {
		return errors.Join(err, next.file.Close(), os.Remove(next.path))
	}
	s.segmentsMu.Lock()
	defer s.segmentsMu.Unlock()
	if s.active != nil {
		s.active.ended.Store(true)
	}
	s.active = next
	s.segments = append(s.segments, next)
	s.stored.Add(next.size.Load())
	s.pending.Add(next.size.Load() - headerBytes)
	return nil
}

// wake notifies the reader of new records.
func (s *Spool) wake() {
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// Full reports whether the limit of pending bytes is reached, so that no new work should start.
func (s *Spool) Full() bool { return s.pending.Load() >= s.opts.MaxBytes }

// SyncFailures returns the number of failed syncs. The records of failed syncs are written again.
func (s *Spool) SyncFailures() int64 { return s.syncFailures.Load() }

// Failing reports whether the last write or sync failed. The next Append or Probe retries.
func (s *Spool) Failing() bool { return s.failing.Load() }

// Pending returns the bytes of records that are not done.
func (s *Spool) Pending() int64 { return s.pending.Load() }

// Stored returns the size of the spool on disk, in bytes.
func (s *Spool) Stored() int64 { return s.stored.Load() }

// Damaged returns the bytes that could not be read back. Their records are lost.
func (s *Spool) Damaged() int64 { return s.damaged.Load() }

// Limit returns Options.MaxBytes.
func (s *Spool) Limit() int64 { return s.opts.MaxBytes }

// Close syncs and closes the spool. Records that are not done remain for the next Open.
// After Close, Append and Next return errors. No call of Next may be in progress.
func (s *Spool) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	s.background.Wait()
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	s.writeClosed = true
	s.segmentsMu.Lock()
	defer s.segmentsMu.Unlock()
	err := errors.Join(s.flush(s.active), s.reader.save(s.dir))
	for _, seg := range s.segments {
		err = errors.Join(err, seg.file.Close())
		if s.reader.position.remaining(seg) == 0 {
			err = errors.Join(err, os.Remove(seg.path))
		}
	}
	return errors.Join(err, s.lock.Close())
}
