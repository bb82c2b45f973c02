// Package logfile writes a log to a file of limited size.
package logfile

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// maxBytes is the maximum size of a log. A full log becomes the previous log and a new
// one is started, so that the total is at most twice that.
const maxBytes = 8 << 20

// File is a log. It is safe for concurrent use.
type File struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
}

// Open opens a log for appending, and creates it if it is missing. Writes never return errors:
// output that cannot be written is dropped.
func Open(path string) (*File, error) {
	l := &File{path: path}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *File) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening a log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("opening a log: %w", err)
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write appends p. It never fails, because its process must not stop because of its log.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return len(p), nil
	}
	if l.size+int64(len(p)) > maxBytes {
		l.rotate()
	}
	if l.file != nil {
		n, _ := l.file.Write(p)
		l.size += int64(n)
	}
	return len(p), nil
}

// rotate starts a new log. If that fails, output is dropped.
func (l *File) rotate() {
	_ = l.file.Close()
	l.file = nil
	if os.Rename(l.path, l.path+".1") != nil {
		_ = os.Truncate(l.path, 0)
	}
	_ = l.open()
}

// Tail returns the last n bytes, for error messages.
func (l *File) Tail(n int64) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if l.size > n {
		_, _ = file.Seek(l.size-n, io.SeekStart)
	}
	raw, _ := io.ReadAll(io.LimitReader(file, n))
	return string(raw)
}

// Close closes the file. Later output is dropped.
func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
