package spool

import "time"

// rewriteUnsynced writes the unsynced records of the previous segment to a new one and syncs it.
// Those that were read already are read twice.
func (s *Spool) rewriteUnsynced(next *segment) error {
	if len(s.unsynced) == 0 {
		return nil
	}
	if err := next.write(s.unsynced); err != nil {
		return err
	}
	if err := s.fsync(next.file); err != nil {
		s.syncFailures.Add(1)
		return err
	}
	s.log.Info(
		"unsynced records were written to a new segment of the spool", "segment", next.number, "bytes",
		len(s.unsynced),
	)
	s.unsynced = s.unsynced[:0]
	return nil
}

// syncPeriodically syncs the active segment at the interval of Options.Sync.
func (s *Spool) syncPeriodically() {
	tick := time.NewTicker(s.opts.Sync)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.syncInBackground()
		case <-s.stop:
			return
		}
	}
}

// syncInBackground syncs the active segment without blocking appends.
func (s *Spool) syncInBackground() {
	s.writeMu.Lock()
	active, synced := s.active, len(s.unsynced)
	s.writeMu.Unlock()
	if synced == 0 || active.broken {
		return // the next Append or Probe replaces a broken segment
	}
	err := s.flush(active)
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	switch {
	case s.active != active: // it was ended and synced meanwhile
	case err != nil:
		s.markBroken(err)
		s.setFailing(s.startSegment())
	default:
		s.unsynced = s.unsynced[:copy(s.unsynced, s.unsynced[min(synced, len(s.unsynced)):])]
	}
}

// syncActive syncs the active segment. The caller holds writeMu.
func (s *Spool) syncActive() error {
	if len(s.unsynced) == 0 {
		return nil
	}
	if err := s.flush(s.active); err != nil {
		s.markBroken(err)
		return err
	}
	s.unsynced = s.unsynced[:0]
	return nil
}

// flush syncs a segment. After a failure it always returns that error, because the system
// reports lost pages only once: a later sync of the same file succeeds.
func (s *Spool) flush(seg *segment) error {
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	if seg.syncErr == nil {
		seg.syncErr = s.fsync(seg.file)
	}
	return seg.syncErr
}

// markBroken marks the active segment as broken after a failed sync: it is not written to any
// more, and later syncs of it are not trusted. The caller holds writeMu.
func (s *Spool) markBroken(err error) {
	s.active.broken = true
	s.syncFailures.Add(1)
	s.log.Error(
		"a segment of the spool cannot be synced", "segment", s.active.number, "unsynced", len(s.unsynced), "error", err,
	)
}
