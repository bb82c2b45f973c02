package machine

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
)

const (
	blockDevices = "/sys/block"
	sectorBytes  = 512 // in which the kernel counts sizes, whatever the device does
	// mostPartitions bounds what one machine has in an inventory; disks, mounts and
	// interfaces are bounded as their series are.
	mostPartitions = 128
	// mostAddresses bounds those of an interface.
	mostAddresses = 16
)

func readHost(ctx context.Context, name string) Host {
	h := Host{Name: name, System: runtime.GOOS, Architecture: runtime.GOARCH}
	info, err := host.InfoWithContext(ctx)
	if err != nil || info == nil {
		return h
	}
	h.System = cleanName(cmp.Or(info.OS, h.System))
	h.Architecture = cleanName(cmp.Or(info.KernelArch, h.Architecture))
	h.Kernel = known(info.KernelVersion)
	h.Distribution = known(strings.TrimSpace(info.Platform + " " + info.PlatformVersion))
	if info.VirtualizationRole == "guest" {
		h.Virtualization = known(info.VirtualizationSystem)
	}
	return h
}

// known is cleanName, but nothing stays nothing.
func known(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return cleanName(text)
}

func coreModels(ctx context.Context) map[int]string {
	models := map[int]string{}
	infos, err := cpu.InfoWithContext(ctx)
	if err != nil {
		return models
	}
	for _, info := range infos {
		models[int(info.CPU)] = known(info.ModelName)
	}
	return models
}

// readCores lists the cores under the names that their series have.
func readCores(ctx context.Context, models map[int]string) ([]Core, error) {
	times, err := cpu.TimesWithContext(ctx, true)
	if err != nil {
		return nil, err
	}
	var cores []Core
	for i, t := range times[:min(len(times), mostCores)] {
		number, err := strconv.Atoi(coreName(t.CPU, i))
		if err != nil {
			number = i
		}
		model, ok := models[number]
		if !ok {
			model = models[0] // some systems describe the first for all
		}
		cores = append(cores, Core{Number: number, Model: model})
	}
	return cores, nil
}

func memorySizes(ctx context.Context) (memory, swap uint64) {
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		memory = m.Total
	}
	if s, err := mem.SwapMemoryWithContext(ctx); err == nil {
		swap = s.Total
	}
	return memory, swap
}

// readDisks lists what a folder such as /sys/block describes. A system without
// one has no disks in its inventory.
func readDisks(folder string) ([]Disk, []Partition, error) {
	entries, err := os.ReadDir(folder)
	if os.IsNotExist(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var disks []Disk
	var partitions []Partition
	for _, entry := range entries {
		if path := filepath.Join(folder, entry.Name()); diskLike(entry.Name()) && len(disks) < mostDevices {
			size := fileNumber(path, "size") * sectorBytes
			if size == 0 {
				continue // an empty slot
			}
			d := Disk{
				Name: deviceName(entry.Name()), Bytes: size, Model: known(fileText(path, "device", "model")),
				Rotational: fileText(path, "queue", "rotational") == "1", Removable: fileText(path, "removable") == "1",
			}
			disks = append(disks, d)
			partitions = append(partitions, partitionsOf(path, d.Name)...)
		}
	}
	return disks, partitions[:min(len(partitions), mostPartitions)], nil
}

func partitionsOf(path, disk string) []Partition {
	numbers, err := filepath.Glob(filepath.Join(path, "*", "partition"))
	if err != nil {
		return nil
	}
	var partitions []Partition
	for _, number := range numbers {
		part := filepath.Dir(number)
		partitions = append(partitions, Partition{
			Name: deviceName(filepath.Base(part)), Disk: disk, Bytes: fileNumber(part, "size") * sectorBytes,
		})
	}
	return partitions
}

// deviceName returns a device's name out of its folder's, where the slash of
// cciss/c0d0 is an exclamation mark.
func deviceName(folder string) string { return cleanName(strings.ReplaceAll(folder, "!", "/")) }

func fileText(path ...string) string {
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func fileNumber(path ...string) uint64 {
	number, err := strconv.ParseUint(fileText(path...), 10, 53)
	if err != nil {
		return 0
	}
	return number
}

// readMounts lists the file systems whose usage is measured, see ownMounts.
func readMounts(ctx context.Context) ([]Mount, error) {
	partitions, err := disk.PartitionsWithContext(ctx, false)
	if err != nil {
		return nil, err
	}
	paths := append([]string{rootMount()}, ownMounts(partitions)...)
	var mounts []Mount
	for _, path := range paths[:min(len(paths), mostMounts)] {
		m := Mount{Path: cleanText(path, longestPath)}
		if i := slices.IndexFunc(partitions, func(p disk.PartitionStat) bool { return p.Mountpoint == path }); i >= 0 {
			m.Device, m.Type = known(strings.TrimPrefix(partitions[i].Device, "/dev/")), known(partitions[i].Fstype)
		}
		usage, err := disk.UsageWithContext(ctx, path)
		if err != nil || usage.Total == 0 {
			continue
		}
		m.Bytes, m.Used = usage.Total, int(usage.UsedPercent)
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// readInterfaces lists the interfaces that are up or have an address, without
// those that container engines make and remove.
func readInterfaces(ctx context.Context) ([]Interface, error) {
	found, err := net.InterfacesWithContext(ctx)
	if err != nil {
		return nil, err
	}
	var interfaces []Interface
	for _, f := range found {
		i := Interface{
			Name: interfaceName(f.Name), Hardware: known(f.HardwareAddr), MTU: f.MTU,
			Loopback: slices.Contains(f.Flags, "loopback"), Up: slices.Contains(f.Flags, "up"),
		}
		if strings.HasSuffix(i.Name, "*") || (!i.Up && len(f.Addrs) == 0) || len(interfaces) == mostInterfaces {
			continue
		}
		for _, a := range f.Addrs[:min(len(f.Addrs), mostAddresses)] {
			i.Addresses = append(i.Addresses, cleanName(a.Addr))
		}
		slices.Sort(i.Addresses)
		interfaces = append(interfaces, i)
	}
	return interfaces, nil
}
