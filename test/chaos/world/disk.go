package world

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// diskBytes is how large an engine's disk is while it is not full.
const diskBytes = 4 << 30

// diskful are the engines that write what must not be lost.
var diskful = map[string]bool{Kafka: true, ClickHouse: true, Postgres: true}

// mount puts a disk of its own, in memory, at a directory.
func mount(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, "mode=0711,size="+strconv.Itoa(diskBytes)); err != nil {
		return fmt.Errorf("mounting a disk at %s: %w", dir, err)
	}
	return nil
}

func unmount(dir string) error { return unix.Unmount(dir, unix.MNT_DETACH) }

// MayMount reports whether this process may mount disks, and why not.
func MayMount() error {
	dir, err := os.MkdirTemp("", "livegraph-mount-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }()
	if err := mount(dir); err != nil {
		return err
	}
	return unmount(dir)
}

// Fill makes the engine's disk as small as what is on it and a little more; grow makes
// it large again.
func (e *Engine) Fill(left int64) (grow func() error, err error) {
	var now unix.Statfs_t
	if err := unix.Statfs(e.Disk, &now); err != nil {
		return nil, fmt.Errorf("looking at the disk of %s: %w", e.Name, err)
	}
	used := int64(now.Blocks-now.Bfree) * now.Bsize
	if err := resize(e.Disk, used+left); err != nil {
		return nil, err
	}
	return sync.OnceValue(func() error { return resize(e.Disk, diskBytes) }), nil
}

func resize(dir string, size int64) error {
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_NODEV|unix.MS_NOSUID, "size="+strconv.FormatInt(size, 10)); err != nil {
		return fmt.Errorf("resizing the disk at %s: %w", dir, err)
	}
	return nil
}
