package process

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Settings of the garbage collector.
const (
	// The heap counts as small below smallHeap bytes in use, and as large above largeHeap.
	// In between the setting does not change.
	smallHeap = 64 << 20
	largeHeap = 96 << 20
	// A small heap may grow to three times the bytes in use before it is collected. With
	// Go's default of two times, a service that executes thousands of commands per second
	// with 30 MiB in use spends a sixth of its time on collection.
	smallPercent     = 200
	largePercent     = 100
	heapPollInterval = time.Second
)

// tuneGCPercent makes the garbage collector run less often while the heap is small, until
// ctx is done. It does nothing if GOGC is set.
func tuneGCPercent(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	tick := time.NewTicker(heapPollInterval)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	percent := largePercent
	defer debug.SetGCPercent(largePercent)
	for {
		metrics.Read(live)
		if next := nextGCPercent(percent, live[0].Value.Uint64()); next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// nextGCPercent returns the percentage by which the heap may grow before it is collected.
// current is the present percentage, live the bytes in use after the last collection.
func nextGCPercent(current int, live uint64) int {
	switch {
	case live < smallHeap:
		return smallPercent
	case live > largeHeap:
		return largePercent
	default:
		return current
	}
}
