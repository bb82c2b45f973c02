// Package durable writes files that survive a crash: after it, a file has either its old
// content or all of its new content, and one that was reported as written is there.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes data to a file of this mode, in place of one that is there.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return Write(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write writes what fill writes to a file of this mode, in place of one that is there. The
// file is unchanged if fill fails.
func Write(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return system.write(path, mode, fill)
}

// Rename renames a file whose content is durable, in place of one that is there, so that the
// new name is durable as well. Both names are in one directory.
func Rename(from, path string) error { return system.renameDurably(from, path) }

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// calls are the system's calls that make a file durable.
type calls struct {
	sync    func(*os.File) error
	rename  func(from, to string) error
	syncDir func(dir string) error
}

var system = calls{sync: (*os.File).Sync, rename: os.Rename, syncDir: SyncDir}

// write makes the content durable before the file gets its name: a rename may reach the disk
// before what was written, and then a crash leaves an empty file under the name.
func (c calls) write(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("creating the file: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // it is gone when all went well
	if err = fill(file); err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = c.sync(file)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return c.renameDurably(file.Name(), path)
}

func (c calls) renameDurably(from, path string) error {
	if err := c.rename(from, path); err != nil {
		return err
	}
	return c.syncDir(filepath.Dir(path))
}
