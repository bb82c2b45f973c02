// Package durable writes files that survive a crash. After a crash, a file has either its old
// content or all of its new content, and a file whose write returned without error exists.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes data to a file with this mode. It replaces an existing file.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return Write(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Write writes the output of fill to a file with this mode. It replaces an existing file, which
// is unchanged if fill fails.
func Write(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	return system.write(path, mode, fill)
}

// Rename renames a file whose content is durable, so that the new name is durable as well. It
// replaces an existing file. Both names must be in the same directory.
func Rename(from, path string) error { return system.renameDurably(from, path) }

// SyncDir syncs a directory, so that the names in it are durable.
func SyncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// calls are the system calls that make a file durable.
type calls struct {
	sync    func(*os.File) error
	rename  func(from, to string) error
	syncDir func(dir string) error
}

var system = calls{sync: (*os.File).Sync, rename: os.Rename, syncDir: SyncDir}

// write makes the content durable before it renames the file: otherwise the rename may reach the
// disk before the content, and a crash leaves an empty file with the name.
func (c calls) write(path string, mode fs.FileMode, fill func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("creating the file: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // it does not exist any more after a rename
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
