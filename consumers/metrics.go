package consumers

import (
	"sync/atomic"
	"time"
)

// Metrics are a loop's counters and gauges.
type Metrics struct {
	Records     atomic.Int64 // stored, dead letters included
	Rows        atomic.Int64 // stored
	Batches     atomic.Int64
	DeadLetters atomic.Int64
	Retries     atomic.Int64 // failures that were retried
	Rebalances  atomic.Int64 // assignments and revocations of partitions
	Restarts    atomic.Int64 // memberships ended by a failure
	StoreTime   atomic.Int64 // nanoseconds spent in storing
	PrepareTime atomic.Int64 // nanoseconds spent in preparing
	Lost        atomic.Int64 // records that the log no longer contained
	Lag         atomic.Int64 // gauge: records of owned partitions that are not yet polled
	Freshness   atomic.Int64 // gauge: age in nanoseconds of the oldest record of the last batch when it was stored
}

// Snapshot contains the values of the metrics at one moment.
type Snapshot struct {
	Records, Rows, Batches, DeadLetters, Retries, Rebalances, Restarts, Lost, Lag int64
	StoreTime, PrepareTime, Freshness                                             time.Duration
}

// Snapshot reads all metrics.
func (m *Metrics) Snapshot() Snapshot {
	return Snapshot{
		Records: m.Records.Load(), Rows: m.Rows.Load(), Batches: m.Batches.Load(), DeadLetters: m.DeadLetters.Load(),
		Retries: m.Retries.Load(), Rebalances: m.Rebalances.Load(),
		Restarts: m.Restarts.Load(), Lost: m.Lost.Load(), Lag: m.Lag.Load(),
		StoreTime: time.Duration(m.StoreTime.Load()), PrepareTime: time.Duration(m.PrepareTime.Load()),
		Freshness: time.Duration(m.Freshness.Load()),
	}
}
