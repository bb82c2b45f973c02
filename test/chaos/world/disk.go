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

// diskful are the engines, and the role, that write what must not be lost.
var diskful = map[string]bool{Kafka: true, Kafka2: true, ClickHouse: true, Postgres: true, "api": true}

// ownDisk makes a directory, with its own disk where that is wanted.
func (w *World) ownDisk(dir, of string) (Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if !w.options.Disks || !diskful[of] {
		return "", nil
	}
	return Disk(dir), mount(dir)
}

// mount puts its own disk, in memory, at a directory.
func mount(dir string) error {
	if err := unix.Mount(
		"tmpfs", dir, "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, "mode=0711,size="+strconv.Itoa(diskBytes),
	); err != nil {
		return fmt.Errorf("mounting a disk at %s: %w", dir, err)
	}
	return nil
}

func unmount(dir Disk) error {
	if dir == "" {
		return nil
	}
	return unix.Unmount(string(dir), unix.MNT_DETACH)
}

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
	return unmount(Disk(dir))
}

// Disk is the directory of its own disk; empty: there is none.
type Disk string

// Fill makes the disk as small as what is on it and a little more; grow makes it large
// again.
func (d Disk) Fill(left int64) (grow func() error, err error) {
	var now unix.Statfs_t
	if err := unix.Statfs(string(d), &now); err != nil {
		return nil, fmt.Errorf("looking at the disk %s: %w", d, err)
	}
	used := int64(now.Blocks-now.Bfree) * now.Bsize
	if err := d.resize(used + left); err != nil {
		return nil, err
	}
	return sync.OnceValue(func() error { return d.resize(diskBytes) }), nil
}

func (d Disk) resize(size int64) error {
	if err := unix.Mount(
		"", string(d), "", unix.MS_REMOUNT|unix.MS_NODEV|unix.MS_NOSUID, "size="+strconv.FormatInt(size, 10),
	); err != nil {
		return fmt.Errorf("resizing the disk %s: %w", d, err)
	}
	return nil
}
