package machine

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/sensors"
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
func collectors() []collector {
	return []collector{
		{"cpu", "Processor time of this machine, all cores together and each alone", []Metric{
			{CPUUsage, percent, "Time not idle, of all cores together"},
			{"user_percent", percent, "Time in programs, niced ones included"},
			{"system_percent", percent, "Time in the kernel, interrupts included"},
			{"iowait_percent", percent, "Time idle while a disk was awaited"},
			{"core_usage_percent", percent, "Time not idle, by core"},
		}, readCPU},
		{"memory", "Main memory and swap space of this machine", []Metric{
			{MemoryUsed, percent, "Memory that is neither free nor could be freed at once"},
			{"used_bytes", "bytes", "Memory that is neither free nor could be freed at once"},
			{"available_bytes", "bytes", "Memory that programs could still get"},
			{"total_bytes", "bytes", "Memory of the machine"},
			{"swap_used_percent", percent, "Swap space in use"},
		}, readMemory},
		{"load", "How many processes of this machine run or wait", []Metric{
			{"load1", "", "Processes running or waiting, average over 1 minute"},
			{"load5", "", "Processes running or waiting, average over 5 minutes"},
			{"load15", "", "Processes running or waiting, average over 15 minutes"},
		}, readLoad},
		{"disk", "File systems (by mount) and block devices (by device) of this machine", []Metric{
			{"used_percent", percent, "Space in use, by mount"},
			{"free_bytes", "bytes", "Space that programs can still use, by mount"},
			{"read_bytes_per_second", "bytes/s", "Bytes read, by device"},
			{"written_bytes_per_second", "bytes/s", "Bytes written, by device"},
		}, readDisk},
		{"network", "Traffic of this machine, by network interface; interfaces of containers are summed", []Metric{
			{"received_bytes_per_second", "bytes/s", "Bytes received"},
			{"sent_bytes_per_second", "bytes/s", "Bytes sent"},
		}, readNetwork},
		{"temperature", "Temperatures of this machine, by sensor", []Metric{
			{"celsius", "celsius", "Temperature"},
		}, readTemperature},
		{"processes", "The 20 busiest programs of this machine; processes of one name are summed", []Metric{
			{ProcessCPU, percent, "Processor time, 100 being one core"},
			{ProcessRSS, "bytes", "Resident memory; what instances share counts for each"},
			{"instances", "", "Processes of this name"},
		}, newBusiest().read},
	}
}

func readCPU(ctx context.Context, into *readings) error {
	cores, err := cpu.TimesWithContext(ctx, true)
	if err != nil || len(cores) == 0 {
		return cmp.Or(err, errors.New("the kernel lists no processor"))
	}
	all := 100 / float64(len(cores))
	for i, c := range cores {
		core := coreNumber(c, i)
		busy := c.User + c.Nice + c.System + c.Irq + c.Softirq + c.Steal
		into.rate("core_usage_percent", "core", core, core, busy, 100)
		into.rate(CPUUsage, "", "", core, busy, all)
		into.rate("user_percent", "", "", core, c.User+c.Nice, all)
		into.rate("system_percent", "", "", core, c.System+c.Irq+c.Softirq, all)
		into.rate("iowait_percent", "", "", core, c.Iowait, all)
	}
	for i := range into.values { // the kernel counts in ticks, so that a round may contain one too many
		into.values[i].Value = min(into.values[i].Value, 100)
	}
	return nil
}

// coreNumber returns the number in the system's name of a core (cpu3).
func coreNumber(c cpu.TimesStat, index int) string {
	number := strings.TrimPrefix(c.CPU, "cpu")
	if _, err := strconv.Atoi(number); err != nil {
		return strconv.Itoa(index)
	}
	return number
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

func readDisk(ctx context.Context, into *readings) error {
	mounts, err := readMounts(ctx)
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

// parentDisk returns the disk of a partition, the device itself if it is not a real disk, or "" for a disk.
func parentDisk[T any](device string, all map[string]T) string {
	for _, prefix := range []string{"loop", "ram", "zram", "sr", "fd"} {
		if strings.HasPrefix(device, prefix) {
			return device
		}
	}
	base := strings.TrimRight(device, "0123456789")
	for _, disk := range []string{base, strings.TrimSuffix(base, "p")} { // sda1; nvme0n1p1
		if _, ok := all[disk]; ok && disk != device {
			return disk
		}
	}
	return ""
}

// mount is a file system and how full it is.
type mount struct {
	disk.UsageStat
	device string
}

// readMounts returns the root and one mount for each other device. It omits files that container engines mount, and
// images, which are always full.
func readMounts(ctx context.Context) (mounts []mount, err error) {
	partitions, err := disk.PartitionsWithContext(ctx, false)
	if !slices.ContainsFunc(partitions, func(p disk.PartitionStat) bool { return p.Mountpoint == "/" }) {
		partitions = append(partitions, disk.PartitionStat{Mountpoint: "/", Device: "/"})
	}
	slices.SortStableFunc(partitions, func(a, b disk.PartitionStat) int {
		return cmp.Or(cmp.Compare(len(a.Mountpoint), len(b.Mountpoint)), cmp.Compare(a.Mountpoint, b.Mountpoint))
	})
	devices := map[string]bool{}
	for _, p := range partitions {
		info, statErr := os.Stat(p.Mountpoint)
		image := p.Fstype == "squashfs" || p.Fstype == "iso9660"
		if devices[p.Device] || image || statErr != nil || !info.IsDir() {
			continue
		}
		usage, usageErr := disk.UsageWithContext(ctx, p.Mountpoint)
		if usageErr != nil || usage.Total == 0 {
			continue
		}
		devices[p.Device] = true
		usage.Fstype = cmp.Or(p.Fstype, usage.Fstype)
		mounts = append(mounts, mount{*usage, p.Device})
	}
	return mounts, err
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
