package machine

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/disk"
	"golang.org/x/sync/singleflight"
)

// mountTimeout bounds the wait for the file systems: one that does not answer blocks its reader in the kernel.
const mountTimeout = 500 * time.Millisecond

// Mount is a mounted file system and how full it is.
type Mount struct {
	disk.UsageStat
	Device string
}

// mountReader reads the mounted file systems without being blocked by them.
type mountReader struct {
	readings singleflight.Group
}

// read returns an error if the file systems do not answer within mountTimeout. It does not start another reading
// before the last one ended.
func (r *mountReader) read(ctx context.Context) ([]Mount, error) {
	select {
	case result := <-r.readings.DoChan("", func() (any, error) { return readMounts(context.WithoutCancel(ctx)) }):
		mounts, _ := result.Val.([]Mount)
		return mounts, result.Err
	case <-time.After(mountTimeout):
		return nil, errors.New("a file system does not answer")
	}
}

// readMounts returns the root and one mount for each other device. It omits files that container engines mount, and
// images, which are always full.
func readMounts(ctx context.Context) (mounts []Mount, err error) {
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
		mounts = append(mounts, Mount{*usage, strings.TrimPrefix(p.Device, "/dev/")})
	}
	return mounts, err
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
