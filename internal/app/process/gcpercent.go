package process

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How garbage is collected.
const (
	// smallHeap is up to how many bytes in use the heap counts as small, and grownHeap
	// from how many on it does so no more.
	smallHeap = 64 << 20
	grownHeap = 96 << 20
	// A small heap may grow to three times what is in use before it is collected: with
	// twice, which is Go's own, a service that decides thousands of commands a second
	// with 30 MiB in use spends the sixth part of its time on collecting.
	smallPercent = 200
	grownPercent = 100
	heapLookedAt = time.Second
)

// paceCollector collects garbage less often while the heap is small, until ctx is done.
// Where GOGC is set, that is what holds.
func paceCollector(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	tick := time.NewTicker(heapLookedAt)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	percent := grownPercent
	defer debug.SetGCPercent(grownPercent)
	for {
		metrics.Read(live)
		if wanted := collectorPercent(percent, live[0].Value.Uint64()); wanted != percent {
			percent = wanted
			debug.SetGCPercent(percent)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// collectorPercent is by how much the heap may grow before it is collected, given by
// how much it may now and how many bytes were in use after the last collection.
func collectorPercent(now int, live uint64) int {
	switch {
	case live < smallHeap:
		return smallPercent
	case live > grownHeap:
		return grownPercent
	default:
		return now
	}
}
