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

	// minMemoryLimit is the lowest soft memory limit of the Go runtime in bytes. A full load of
	// points needs less. Without a limit the heap would grow to twice the bytes in use before it
	// is collected.
	minMemoryLimit = 640 << 20
	// memoryLimitStep divides memory limits, because a change stops all goroutines for a moment.
	memoryLimitStep = 64 << 20
	// memoryMargin is the minimum size of everything but the heap in use: garbage, stacks, buffers
	// of requests.
	memoryMargin = 128 << 20
)

// LimitMemory sets the memory limit unless GOMEMLIMIT is set.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(minMemoryLimit)
	}
}

// tuneGC makes the garbage collector run less often while the heap is small, and raises the memory
// limit with the heap, until ctx is done. It does not change what GOGC or GOMEMLIMIT sets.
func tuneGC(ctx context.Context) error {
	tick := time.NewTicker(heapPollInterval)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	percent, limit := largePercent, int64(0)
	setPercent, setLimit := os.Getenv("GOGC") == "", os.Getenv("GOMEMLIMIT") == ""
	if setPercent {
		defer debug.SetGCPercent(largePercent)
	}
	for {
		metrics.Read(live)
		inUse := live[0].Value.Uint64()
		if next := nextGCPercent(percent, inUse); setPercent && next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
		if next := memoryLimit(inUse); setLimit && next != limit {
			limit = next
			debug.SetMemoryLimit(limit)
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

// memoryLimit returns the soft memory limit for a heap with live bytes in use after the last
// collection. If the limit were close to them, as with the caches of a million series, the runtime
// would collect garbage half of the time.
func memoryLimit(live uint64) int64 {
	const step = memoryLimitStep
	return max(minMemoryLimit, (int64(live)*5/4+memoryMargin+step-1)/step*step)
}
