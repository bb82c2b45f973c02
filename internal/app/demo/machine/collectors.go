package machine

import (
	"cmp"
	"context"
	_ "embed" // the sources
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/livegraph/livegraph/internal/app/client"
)

// maxBusiest is the number of programs that are measured.
const maxBusiest = 20

//go:embed sources.yaml
var described []byte

// collectors creates a collector for each source of a host.
func collectors(host string) (all []*collector) {
	readers := map[string]func(context.Context, *collector) error{
		"cpu": readCPU, "memory": readMemory, "load": readLoad, "disk": readDisk,
		"network": readNetwork, "processes": readProcesses,
	}
	var sources []client.Source
	if err := yaml.UnmarshalWithOptions(described, &sources, yaml.Strict()); err != nil {
		panic("sources.yaml: " + err.Error()) // the file is part of the program
	}
	for _, s := range sources {
		kind := s.Name
		s.Name, s.Tags = host+"/"+kind, map[string]string{"host": host, "kind": kind}
		all = append(all, &collector{source: s, read: readers[kind], keys: map[string]bool{}})
	}
	return all
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
		into.rate("usage_percent", "", "", core, busy, all)
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
	into.add("used_percent", "", "", memory.UsedPercent)
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

func readDisk(ctx context.Context, into *collector) error {
	mounts, err := readMounts(ctx)
	for _, m := range mounts {
		into.add("used_percent", "mount", cleanName(m.Path), m.UsedPercent)
		into.add("free_bytes", "mount", cleanName(m.Path), float64(m.Free))
	}
	counters, ioErr := disk.IOCountersWithContext(ctx)
	for name, c := range counters {
		if diskOf(name, counters) == name && c.ReadCount+c.WriteCount > 0 { // a partition's traffic is the disk's
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

// usage is what the processes of a name use.
type usage struct {
	name                string
	cpu, rss, instances float64
}

// readProcesses measures the busiest programs. Instances of a name are summed: a pid in a tag would create a series at
// every start of a program. A process counts from its second round on.
func readProcesses(ctx context.Context, into *collector) error {
	pids, err := process.PidsWithContext(ctx)
	byName := map[string]*usage{}
	for _, pid := range pids {
		proc := &process.Process{Pid: pid}
		times, timesErr := proc.TimesWithContext(ctx)
		command, nameErr := proc.NameWithContext(ctx)
		memory, memoryErr := proc.MemoryInfoWithContext(ctx)
		if errors.Join(timesErr, nameErr, memoryErr) != nil {
			continue // it ended, or may not be read
		}
		if cores, ok := into.growth(strconv.Itoa(int(pid)), times.User+times.System); ok {
			name := programName(command)
			u := cmp.Or(byName[name], &usage{name: name})
			u.cpu, u.rss, u.instances = u.cpu+100*cores, u.rss+float64(memory.RSS), u.instances+1
			byName[name] = u
		}
	}
	busiest := slices.SortedFunc(maps.Values(byName), func(x, y *usage) int {
		return cmp.Or(cmp.Compare(y.cpu, x.cpu), cmp.Compare(y.rss, x.rss), cmp.Compare(x.name, y.name))
	})
	for _, u := range busiest[:min(len(busiest), maxBusiest)] {
		into.add("cpu_percent", "process", u.name, u.cpu)
		into.add("rss_bytes", "process", u.name, u.rss)
		into.add("instances", "process", u.name, u.instances)
	}
	return err
}
