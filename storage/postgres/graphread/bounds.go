package graphread

import "time"

// BoundLists makes lists take their steps on few rows, as tests want them to.
func (db *Store) BoundLists(few, window, values int) {
	db.bounds = listBounds{few: few, window: window, values: values}
}

// PartTotals sets the times between the stretches by which totals are counted; without
// it, statistics do.
func (db *Store) PartTotals(times []time.Time) { db.bounds.times = times }
