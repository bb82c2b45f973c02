package graphread

import "time"

// SetListLimits lowers the limits of lists, so that tests reach each step with few rows.
func (db *Store) SetListLimits(few, window, values int) {
	db.limits.maxSmallResult, db.limits.windowRows, db.limits.maxValues = few, window, values
}

// SetTotalBuckets sets the bounds of the histogram buckets by which totals are counted. The default
// are the bounds in the statistics of Postgres.
func (db *Store) SetTotalBuckets(times []time.Time) { db.limits.bucketTimes = times }

// SetPastEntries lowers the number of changes that reads as of a moment examine.
func (db *Store) SetPastEntries(n int) { db.limits.pastEntries = n }
