package machine

import (
	"context"

	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
)

// memory measures main memory and swap space.
type memory struct{}

func (memory) describe() description {
	return description{
		kind: "memory", text: "Main memory and swap space of this machine",
		metrics: []Metric{
			{MemoryUsed, percentUnit, "Memory that is neither free nor could be freed at once"},
			{"used_bytes", "bytes", "Memory that is neither free nor could be freed at once"},
			{"available_bytes", "bytes", "Memory that programs could still get"},
			{"cached_bytes", "bytes", "Memory that holds files' contents"},
			{"total_bytes", "bytes", "Memory of the machine"},
			{"swap_used_percent", percentUnit, "Swap space in use"},
			{"swap_used_bytes", "bytes", "Swap space in use"},
		},
	}
}

func (memory) collect(ctx context.Context, into *readings) {
	main, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil || main.Total == 0 {
		into.lacks("memory", reason(err, "the kernel says nothing of it"))
	} else {
		into.add(MemoryUsed, main.UsedPercent)
		into.add("used_bytes", float64(main.Used))
		into.add("available_bytes", float64(main.Available))
		into.add("cached_bytes", float64(main.Cached))
		into.add("total_bytes", float64(main.Total))
	}
	swap, err := mem.SwapMemoryWithContext(ctx)
	if err != nil || swap.Total == 0 {
		into.lacks("swap", reason(err, "this machine has none"))
		return
	}
	into.add("swap_used_percent", swap.UsedPercent)
	into.add("swap_used_bytes", float64(swap.Used))
}

// loadAverage measures how many processes want to run: the load averages over 1, 5
// and 15 minutes, and the counts of now.
type loadAverage struct{}

func (loadAverage) describe() description {
	return description{
		kind: "load", text: "How many processes of this machine run or wait",
		metrics: []Metric{
			{"load1", "", "Processes running or waiting, average over 1 minute"},
			{"load5", "", "Processes running or waiting, average over 5 minutes"},
			{"load15", "", "Processes running or waiting, average over 15 minutes"},
			{"processes_running", "", "Processes running now"},
			{"processes_total", "", "Processes there are"},
		},
	}
}

func (loadAverage) collect(ctx context.Context, into *readings) {
	average, err := load.AvgWithContext(ctx)
	if err != nil {
		into.lacks("load", err.Error())
	} else {
		into.add("load1", average.Load1)
		into.add("load5", average.Load5)
		into.add("load15", average.Load15)
	}
	counts, err := load.MiscWithContext(ctx)
	if err != nil {
		into.lacks("process counts", err.Error())
		return
	}
	into.add("processes_running", float64(counts.ProcsRunning))
	into.add("processes_total", float64(counts.ProcsTotal))
}
