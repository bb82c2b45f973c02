package machine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/disk"
)

const (
	mostMounts  = 32
	mostDevices = 32
)

// disks measures how full the file systems are and how busy the devices.
type disks struct {
	meter   meter
	mounts  *roster
	devices *roster
	whole   func(device string) bool
}

func newDisk() *disks {
	return &disks{mounts: newRoster(mostMounts), devices: newRoster(mostDevices), whole: wholeDevice}
}

func (*disks) describe() description {
	return description{
		kind: "disk", text: "File systems (by mount) and block devices (by device) of this machine",
		metrics: []Metric{
			{"used_percent", percentUnit, "Space in use, by mount"},
			{"used_bytes", "bytes", "Space in use, by mount"},
			{"free_bytes", "bytes", "Space that programs can still use, by mount"},
			{"read_bytes_per_second", "bytes/s", "Bytes read, by device"},
			{"written_bytes_per_second", "bytes/s", "Bytes written, by device"},
			{"reads_per_second", "1/s", "Reads completed, by device"},
			{"writes_per_second", "1/s", "Writes completed, by device"},
			{"busy_percent", percentUnit, "Time with a request under way, by device"},
		},
	}
}

func (d *disks) collect(ctx context.Context, into *readings) {
	d.collectUsage(ctx, into)
	d.collectIO(ctx, into)
}

func (d *disks) collectUsage(ctx context.Context, into *readings) {
	mounts := []string{rootMount()}
	partitions, err := disk.PartitionsWithContext(ctx, false)
	if err != nil {
		into.lacks("the list of mounts", err.Error())
	}
	mounts = append(mounts, ownMounts(partitions)...)
	read := 0
	for _, mount := range mounts {
		usage, err := disk.UsageWithContext(ctx, mount)
		if err != nil || usage.Total == 0 || d.mounts.admit(mount) == other {
			continue
		}
		read++
		into.addTagged("used_percent", "mount", cleanName(mount), usage.UsedPercent)
		into.addTagged("used_bytes", "mount", cleanName(mount), float64(usage.Used))
		into.addTagged("free_bytes", "mount", cleanName(mount), float64(usage.Free))
	}
	if read == 0 {
		into.lacks("disk usage", "no file system says how full it is")
	}
}

// ownMounts returns the mounts beside the root that have a device of their own,
// one for each device: not the files that container engines bind into place,
// nor images, which are always full.
func ownMounts(partitions []disk.PartitionStat) []string {
	shortest := map[string]string{}
	root := rootMount()
	for _, p := range partitions {
		if p.Mountpoint == root {
			shortest[p.Device] = root
		}
	}
	for _, p := range partitions {
		if p.Fstype == "squashfs" || p.Fstype == "iso9660" || !isDirectory(p.Mountpoint) {
			continue
		}
		if known, ok := shortest[p.Device]; !ok || len(p.Mountpoint) < len(known) {
			shortest[p.Device] = p.Mountpoint
		}
	}
	var mounts []string
	for _, mount := range shortest {
		if mount != root {
			mounts = append(mounts, mount)
		}
	}
	slices.Sort(mounts)
	return mounts
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (d *disks) collectIO(ctx context.Context, into *readings) {
	counters, err := disk.IOCountersWithContext(ctx)
	d.meter.begin(time.Now())
	if err != nil {
		into.lacks("disk traffic", err.Error())
		return
	}
	found := 0
	for name, c := range counters {
		if !d.whole(name) || c.ReadCount+c.WriteCount == 0 || d.devices.admit(name) == other {
			continue
		}
		found++
		add := func(metric string, value, scale float64) {
			if rate, ok := d.meter.rate(name+"/"+metric, value); ok {
				into.addTagged(metric, "device", cleanName(name), rate*scale)
			}
		}
		add("read_bytes_per_second", float64(c.ReadBytes), 1)
		add("written_bytes_per_second", float64(c.WriteBytes), 1)
		add("reads_per_second", float64(c.ReadCount), 1)
		add("writes_per_second", float64(c.WriteCount), 1)
		add("busy_percent", float64(c.IoTime), 0.1) // ms a second to percent
	}
	if found == 0 {
		into.lacks("disk traffic", "the kernel lists no disk that was ever used")
	}
}

// wholeDevice reports whether a device is a disk of its own: not a partition of
// one (its traffic would count twice), not a RAM disk, not a file in disguise.
func wholeDevice(name string) bool {
	if !diskLike(name) {
		return false
	}
	if !isDirectory(blockDevices) {
		return true // not Linux, or it is hidden: take what there is
	}
	// A device of a folder (cciss/c0d0) has the slash as an exclamation mark.
	_, err := os.Stat(filepath.Join(blockDevices, strings.ReplaceAll(name, "/", "!")))
	return err == nil
}

// diskLike reports whether a name is not that of a RAM disk, a file in disguise, or
// a drive for something exchangeable.
func diskLike(name string) bool {
	for _, prefix := range []string{"loop", "ram", "zram", "sr", "fd"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

func rootMount() string {
	if volume := filepath.VolumeName(os.TempDir()); volume != "" {
		return volume + string(filepath.Separator)
	}
	return "/"
}
