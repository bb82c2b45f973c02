package environment

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// diskBytes is the size of a disk that is not full.
const diskBytes = 4 << 30

// hasDisk contains the engines and roles that write data that must not be lost.
var hasDisk = map[string]bool{Kafka: true, Kafka2: true, ClickHouse: true, Postgres: true, "api": true}

// makeDir creates a directory, and mounts a disk there if disks are enabled for its owner.
func (env *Environment) makeDir(dir, owner string) (Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if !env.options.Disks || !hasDisk[owner] {
		return "", nil
	}
	return Disk(dir), mount(dir)
}

// mount mounts a disk in memory at a directory.
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

// MayMount returns an error if this process may not mount disks.
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

// Disk is the mount point of a disk; empty: there is none.
type Disk string

// Fill shrinks the disk to its content plus left bytes; grow restores its size.
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
