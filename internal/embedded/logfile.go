package embedded

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// maxLogBytes bounds a log; when it is full it becomes the previous log and a
// new one is begun, so there is at most twice as much.
const maxLogBytes = 8 << 20

// OpenLog opens a log file for appending, bounded as those of the engines are.
// Writes to it never fail: where the disk does, they are dropped.
func OpenLog(path string) (io.WriteCloser, error) { return openLog(path) }

// logFile takes the output of an engine, or of this process.
type logFile struct {
	mu   sync.Mutex
	path string
	file *os.File
	size int64
}

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *logFile) open() error {
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

// Write appends; it fails never, because an engine must not stop for its log.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return len(p), nil
	}
	if l.size+int64(len(p)) > maxLogBytes {
		l.turn()
	}
	if l.file != nil {
		n, _ := l.file.Write(p)
		l.size += int64(n)
	}
	return len(p), nil
}

// turn begins a new log. Where that fails, the output is dropped.
func (l *logFile) turn() {
	_ = l.file.Close()
	l.file = nil
	if os.Rename(l.path, l.path+".1") != nil {
		_ = os.Truncate(l.path, 0)
	}
	_ = l.open()
}

// tail returns the last bytes, for error messages.
func (l *logFile) tail(n int64) string {
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

func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
