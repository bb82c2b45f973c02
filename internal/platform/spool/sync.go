package spool

import "time"

// repeat writes to a new segment what was not synced in the one before, and syncs it. What
// of it was read there is read twice.
func (s *Spool) repeat(next *segment) error {
	if len(s.unsynced) == 0 {
		return nil
	}
	if err := next.write(s.unsynced); err != nil {
		return err
	}
	if err := s.fsync(next.file); err != nil {
		s.unsaved.Add(1)
		return err
	}
	s.log.Info(
		"what may not have reached the disk is in a new segment of the spool", "segment", next.number, "bytes",
		len(s.unsynced),
	)
	s.unsynced = s.unsynced[:0]
	return nil
}

// syncNowAndThen brings what was written to the disk.
func (s *Spool) syncNowAndThen() {
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

// syncInBackground syncs the active segment without holding up appends.
func (s *Spool) syncInBackground() {
	s.write.Lock()
	active, synced := s.active, len(s.unsynced)
	s.write.Unlock()
	if synced == 0 || active.spoilt {
		return // a spoilt one is left to the next Append or Probe
	}
	err := s.flush(active)
	s.write.Lock()
	defer s.write.Unlock()
	switch {
	case s.active != active: // it was ended, and synced, meanwhile
	case err != nil:
		s.spoil(err)
		s.say(s.begin())
	default:
		s.unsynced = s.unsynced[:copy(s.unsynced, s.unsynced[min(synced, len(s.unsynced)):])]
	}
}

// syncActive syncs the active segment. The caller holds write.
func (s *Spool) syncActive() error {
	if len(s.unsynced) == 0 {
		return nil
	}
	if err := s.flush(s.active); err != nil {
		s.spoil(err)
		return err
	}
	s.unsynced = s.unsynced[:0]
	return nil
}

// flush syncs a segment. Once that has failed it fails for good: the system tells of what it
// lost once, and then that all is well.
func (s *Spool) flush(seg *segment) error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if seg.lost == nil {
		seg.lost = s.fsync(seg.file)
	}
	return seg.lost
}

// spoil notes that a sync of the active segment failed: nothing more is written to it, and
// no later sync of it is believed. The caller holds write.
func (s *Spool) spoil(err error) {
	s.active.spoilt = true
	s.unsaved.Add(1)
	s.log.Error(
		"a segment of the spool cannot be synced", "segment", s.active.number, "unsynced", len(s.unsynced), "error", err,
	)
}
