package machine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
	"github.com/shirou/gopsutil/v4/sensors"

	"github.com/livegraph/livegraph/internal/app/client"
)

// Names of metrics that a view shows.
const (
	CPUUsage   = "usage_percent"
	MemoryUsed = "used_percent"
	ProcessCPU = "cpu_percent"
	ProcessRSS = "rss_bytes"
)

const (
	maxBusiest = 20
	// rankWeight is the weight of the newest round in a program's rank: one busy second does not reorder the list.
	rankWeight = 0.2
)

// collectors lists what is measured, in the order of display.
func collectors() []*collector {
	return []*collector{
		{kind: "cpu", text: "Processor time of this machine, all cores together and each alone", read: readCPU,
			metrics: []client.Metric{
				{Name: CPUUsage, Unit: "percent", Description: "Time not idle, of all cores together"},
				{Name: "user_percent", Unit: "percent", Description: "Time in programs, niced ones included"},
				{Name: "system_percent", Unit: "percent", Description: "Time in the kernel, interrupts included"},
				{Name: "iowait_percent", Unit: "percent", Description: "Time idle while a disk was awaited"},
				{Name: "core_usage_percent", Unit: "percent", Description: "Time not idle, by core"},
			}},
		{kind: "memory", text: "Main memory and swap space of this machine", read: readMemory, metrics: []client.Metric{
			{Name: MemoryUsed, Unit: "percent", Description: "Memory that is neither free nor could be freed at once"},
			{Name: "used_bytes", Unit: "bytes", Description: "Memory that is neither free nor could be freed at once"},
			{Name: "available_bytes", Unit: "bytes", Description: "Memory that programs could still get"},
			{Name: "total_bytes", Unit: "bytes", Description: "Memory of the machine"},
			{Name: "swap_used_percent", Unit: "percent", Description: "Swap space in use"},
		}},
		{kind: "load", text: "How many processes of this machine run or wait", read: readLoad, metrics: []client.Metric{
			{Name: "load1", Description: "Processes running or waiting, average over 1 minute"},
			{Name: "load5", Description: "Processes running or waiting, average over 5 minutes"},
			{Name: "load15", Description: "Processes running or waiting, average over 15 minutes"},
		}},
		{kind: "disk", text: "File systems (by mount) and block devices (by device)", read: new(mountReader).readDisk,
			metrics: []client.Metric{
				{Name: "used_percent", Unit: "percent", Description: "Space in use, by mount"},
				{Name: "free_bytes", Unit: "bytes", Description: "Space that programs can still use, by mount"},
				{Name: "read_bytes_per_second", Unit: "bytes/s", Description: "Bytes read, by device"},
				{Name: "written_bytes_per_second", Unit: "bytes/s", Description: "Bytes written, by device"},
			}},
		{kind: "network", text: "Traffic by network interface; interfaces of containers are summed", read: readNetwork,
			metrics: []client.Metric{
				{Name: "received_bytes_per_second", Unit: "bytes/s", Description: "Bytes received"},
				{Name: "sent_bytes_per_second", Unit: "bytes/s", Description: "Bytes sent"},
			}},
		{kind: "temperature", text: "Temperatures of this machine, by sensor", read: readTemperature,
			metrics: []client.Metric{{Name: "celsius", Unit: "celsius", Description: "Temperature"}}},
		{kind: "processes", text: "The 20 busiest programs; processes of one name are summed", read: new(busiest).read,
			metrics: []client.Metric{
				{Name: ProcessCPU, Unit: "percent", Description: "Processor time, 100 being one core"},
				{Name: ProcessRSS, Unit: "bytes", Description: "Resident memory; what instances share counts for each"},
				{Name: "instances", Description: "Processes of this name"},
			}},
	}
}

func readCPU(ctx context.Context, into *collector) error {
	cores, err := cpu.TimesWithContext(ctx, true)
	if err != nil || len(cores) == 0 {
		return cmp.Or(err, errors.New("the kernel lists no processor"))
	}
	all := 100 / float64(len(cores))
	for _, c := range cores {
		core := strings.TrimPrefix(c.CPU, "cpu")
		busy := c.User + c.Nice + c.System + c.Irq + c.Softirq + c.Steal
		into.rate("core_usage_percent", "core", core, core, busy, 100)
		into.rate(CPUUsage, "", "", core, busy, all)
		into.rate("user_percent", "", "", core, c.User+c.Nice, all)
		into.rate("system_percent", "", "", core, c.System+c.Irq+c.Softirq, all)
		into.rate("iowait_percent", "", "", core, c.Iowait, all)
	}
	for series, value := range into.values { // the kernel counts in ticks, so that a round may contain one too many
		into.values[series] = min(value, 100)
	}
	return nil
}

func readMemory(ctx context.Context, into *collector) error {
	memory, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return err
	}
	into.add(MemoryUsed, "", "", memory.UsedPercent)
	into.add("used_bytes", "", "", float64(memory.Used))
	into.add("available_bytes", "", "", float64(memory.Available))
	into.add("total_bytes", "", "", float64(memory.Total))
	if swap, err := mem.SwapMemoryWithContext(ctx); err == nil && swap.Total > 0 {
		into.add("swap_used_percent", "", "", swap.UsedPercent)
	}
	return nil
}

func readLoad(ctx context.Context, into *collector) error {
	average, err := load.AvgWithContext(ctx)
	if err != nil {
		return err
	}
	into.add("load1", "", "", average.Load1)
	into.add("load5", "", "", average.Load5)
	into.add("load15", "", "", average.Load15)
	return nil
}

func (r *mountReader) readDisk(ctx context.Context, into *collector) error {
	mounts, err := r.read(ctx)
	for _, m := range mounts {
		into.add("used_percent", "mount", cleanName(m.Path), m.UsedPercent)
		into.add("free_bytes", "mount", cleanName(m.Path), float64(m.Free))
	}
	counters, ioErr := disk.IOCountersWithContext(ctx)
	for name, c := range counters {
		if parentDisk(name, counters) == "" && c.ReadCount+c.WriteCount > 0 { // a partition's traffic is the disk's
			into.rate("read_bytes_per_second", "device", cleanName(name), name, float64(c.ReadBytes), 1)
			into.rate("written_bytes_per_second", "device", cleanName(name), name, float64(c.WriteBytes), 1)
		}
	}
	return errors.Join(err, ioErr)
}

func readNetwork(ctx context.Context, into *collector) error {
	interfaces, err := net.IOCountersWithContext(ctx, true)
	for _, c := range interfaces {
		if name := interfaceName(c.Name); c.BytesRecv+c.BytesSent > 0 {
			into.rate("received_bytes_per_second", "interface", name, c.Name, float64(c.BytesRecv), 1)
			into.rate("sent_bytes_per_second", "interface", name, c.Name, float64(c.BytesSent), 1)
		}
	}
	return err
}

func readTemperature(ctx context.Context, into *collector) error {
	const coldest, hottest = -60, 200 // outside of these a sensor is not connected
	found, err := sensors.TemperaturesWithContext(ctx)
	for _, s := range found { // the error lists sensors that could not be read
		id := series{"celsius", "sensor", cleanName(s.SensorKey)}
		if _, known := into.values[id]; !known && s.Temperature != 0 && s.Temperature > coldest && s.Temperature < hottest {
			into.add(id.metric, id.tag, id.key, s.Temperature)
		}
	}
	if len(into.values) == 0 {
		return cmp.Or(err, errors.New("no sensor is visible, as is usual in containers and virtual machines"))
	}
	return nil
}

// busiest measures the busiest programs. Instances of a name are summed: a pid in a tag would create a series at every
// start of a program.
type busiest struct {
	running map[int32]*process.Process // nil before the first round
	rank    map[string]float64
}

type usage struct {
	name                      string
	cpu, rss, instances, rank float64
}

func (b *busiest) read(ctx context.Context, into *collector) error {
	pids, err := process.PidsWithContext(ctx)
	if err != nil {
		return err
	}
	first, running, byName := b.running == nil, map[int32]*process.Process{}, map[string]*usage{}
	for _, pid := range pids {
		proc := cmp.Or(b.running[pid], &process.Process{Pid: pid})
		cpu, cpuErr := proc.PercentWithContext(ctx, 0) // since the last round
		command, nameErr := proc.NameWithContext(ctx)
		memory, memoryErr := proc.MemoryInfoWithContext(ctx)
		if errors.Join(cpuErr, nameErr, memoryErr) != nil {
			continue // it ended, or may not be read
		}
		running[pid] = proc
		name := programName(command)
		u := cmp.Or(byName[name], &usage{name: name})
		u.cpu, u.rss, u.instances = u.cpu+cpu, u.rss+float64(memory.RSS), u.instances+1
		byName[name] = u
	}
	b.running = running
	if first {
		return nil // there are no CPU times to compare with
	}
	for _, u := range b.top(byName) {
		into.add(ProcessCPU, "process", u.name, u.cpu)
		into.add(ProcessRSS, "process", u.name, u.rss)
		into.add("instances", "process", u.name, u.instances)
	}
	return nil
}

// top returns the programs of the highest rank.
func (b *busiest) top(byName map[string]*usage) []*usage {
	rank := map[string]float64{}
	for name, u := range byName {
		u.rank = rankWeight*u.cpu + (1-rankWeight)*b.rank[name]
		rank[name] = u.rank
	}
	b.rank = rank
	all := slices.SortedFunc(maps.Values(byName), func(x, y *usage) int {
		return cmp.Or(cmp.Compare(y.rank, x.rank), cmp.Compare(y.rss, x.rss), cmp.Compare(x.name, y.name))
	})
	return all[:min(len(all), maxBusiest)]
}
