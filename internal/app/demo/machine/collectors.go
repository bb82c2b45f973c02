package machine

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/sensors"

	"github.com/livegraph/livegraph/internal/app/client"
)

// Names of metrics that a view shows.
const (
	CPUUsage   = "usage_percent"
	MemoryUsed = "used_percent"
	ProcessCPU = "cpu_percent"
	ProcessRSS = "rss_bytes"
	percent    = "percent"
)

// collectors lists what is measured, in the order of display.
func collectors() []*collector {
	return []*collector{
		newCollector("cpu", "Processor time of this machine, all cores together and each alone", readCPU,
			metric(CPUUsage, percent, "Time not idle, of all cores together"),
			metric("user_percent", percent, "Time in programs, niced ones included"),
			metric("system_percent", percent, "Time in the kernel, interrupts included"),
			metric("iowait_percent", percent, "Time idle while a disk was awaited"),
			metric("core_usage_percent", percent, "Time not idle, by core"),
		),
		newCollector("memory", "Main memory and swap space of this machine", readMemory,
			metric(MemoryUsed, percent, "Memory that is neither free nor could be freed at once"),
			metric("used_bytes", "bytes", "Memory that is neither free nor could be freed at once"),
			metric("available_bytes", "bytes", "Memory that programs could still get"),
			metric("total_bytes", "bytes", "Memory of the machine"),
			metric("swap_used_percent", percent, "Swap space in use"),
		),
		newCollector("load", "How many processes of this machine run or wait", readLoad,
			metric("load1", "", "Processes running or waiting, average over 1 minute"),
			metric("load5", "", "Processes running or waiting, average over 5 minutes"),
			metric("load15", "", "Processes running or waiting, average over 15 minutes"),
		),
		newCollector("disk", "File systems (by mount) and block devices (by device)", new(mountReader).readDisk,
			metric("used_percent", percent, "Space in use, by mount"),
			metric("free_bytes", "bytes", "Space that programs can still use, by mount"),
			metric("read_bytes_per_second", "bytes/s", "Bytes read, by device"),
			metric("written_bytes_per_second", "bytes/s", "Bytes written, by device"),
		),
		newCollector("network", "Traffic by network interface; interfaces of containers are summed", readNetwork,
			metric("received_bytes_per_second", "bytes/s", "Bytes received"),
			metric("sent_bytes_per_second", "bytes/s", "Bytes sent"),
		),
		newCollector("temperature", "Temperatures of this machine, by sensor", readTemperature,
			metric("celsius", "celsius", "Temperature"),
		),
		newCollector("processes", "The 20 busiest programs; processes of one name are summed", new(busiest).read,
			metric(ProcessCPU, percent, "Processor time, 100 being one core"),
			metric(ProcessRSS, "bytes", "Resident memory; what instances share counts for each"),
			metric("instances", "", "Processes of this name"),
		),
	}
}

func newCollector(
	kind, text string, read func(context.Context, *readings) error, metrics ...client.Metric,
) *collector {
	return &collector{kind: kind, text: text, read: read, metrics: metrics, readings: readings{keys: map[string]bool{}}}
}

func metric(name, unit, description string) client.Metric {
	return client.Metric{Name: name, Unit: unit, Description: description}
}

func readCPU(ctx context.Context, into *readings) error {
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

func readMemory(ctx context.Context, into *readings) error {
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

func readLoad(ctx context.Context, into *readings) error {
	average, err := load.AvgWithContext(ctx)
	if err != nil {
		return err
	}
	into.add("load1", "", "", average.Load1)
	into.add("load5", "", "", average.Load5)
	into.add("load15", "", "", average.Load15)
	return nil
}

func (r *mountReader) readDisk(ctx context.Context, into *readings) error {
	mounts, err := r.read(ctx)
	for _, m := range mounts {
		into.add("used_percent", "mount", cleanName(m.Path), m.UsedPercent)
		into.add("free_bytes", "mount", cleanName(m.Path), float64(m.Free))
	}
	counters, ioErr := disk.IOCountersWithContext(ctx)
	for name, c := range counters {
		if parentDisk(name, counters) != "" || c.ReadCount+c.WriteCount == 0 {
			continue // a partition's traffic is the disk's
		}
		into.rate("read_bytes_per_second", "device", cleanName(name), name, float64(c.ReadBytes), 1)
		into.rate("written_bytes_per_second", "device", cleanName(name), name, float64(c.WriteBytes), 1)
	}
	return errors.Join(err, ioErr)
}

func readNetwork(ctx context.Context, into *readings) error {
	interfaces, err := net.IOCountersWithContext(ctx, true)
	for _, c := range interfaces {
		if name := interfaceName(c.Name); c.BytesRecv+c.BytesSent > 0 {
			into.rate("received_bytes_per_second", "interface", name, c.Name, float64(c.BytesRecv), 1)
			into.rate("sent_bytes_per_second", "interface", name, c.Name, float64(c.BytesSent), 1)
		}
	}
	return err
}

func readTemperature(ctx context.Context, into *readings) error {
	const coldest, hottest = -60, 200 // outside of these a sensor is not connected
	found, err := sensors.TemperaturesWithContext(ctx)
	read := map[string]bool{}
	for _, s := range found { // the error lists sensors that could not be read
		name := cleanName(s.SensorKey)
		if s.Temperature != 0 && s.Temperature > coldest && s.Temperature < hottest && !read[name] {
			read[name] = true
			into.add("celsius", "sensor", name, s.Temperature)
		}
	}
	if len(read) == 0 {
		return cmp.Or(err, errors.New("no sensor is visible, as is usual in containers and virtual machines"))
	}
	return nil
}
