package tlsconfig

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// lookEvery is the least time between two looks at the files.
	lookEvery = time.Second
	// largestFile bounds what is read of a file: a bundle of all public CAs is
	// below 300 KB.
	largestFile = 4 << 20
)

// file is a file and the setting that names it.
type file struct{ setting, path string }

// follower is a value that was made of files, and is made again when they change.
type follower[T any] struct {
	files []file
	make  func([]contents) (T, error)

	mu     sync.Mutex
	looked time.Time
	seen   [sha256.Size]byte // of what the files held, or of why they could not be read
	value  T
}

// follow reads the files and makes the value. Files without a path have no contents.
func follow[T any](files []file, build func([]contents) (T, error)) (*follower[T], error) {
	f := &follower[T]{files: files, make: build, looked: time.Now()}
	held, err := f.read()
	if err != nil {
		return nil, err
	}
	f.seen = digest(held, nil)
	f.value, err = build(held)
	return f, err
}

// current returns the value as of the files' contents a second ago or less. Contents
// that are of no use are logged once.
func (f *follower[T]) current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < lookEvery {
		return f.value
	}
	f.looked = time.Now()
	held, err := f.read()
	now := digest(held, err)
	if now == f.seen {
		return f.value
	}
	f.seen = now
	var fresh T
	if err == nil {
		fresh, err = f.make(held)
	}
	if err != nil {
		slog.Warn("TLS files have changed and cannot be used; those of before stay in force", "error", err)
		return f.value
	}
	slog.Info("TLS files have changed and are used from now on", "files", f.paths())
	f.value = fresh
	return fresh
}

func (f *follower[T]) paths() []string {
	var paths []string
	for _, file := range f.files {
		if file.path != "" {
			paths = append(paths, file.path)
		}
	}
	return paths
}

func (f *follower[T]) read() ([]contents, error) {
	held := make([]contents, len(f.files))
	for i, from := range f.files {
		held[i] = contents{setting: from.setting, path: from.path}
		if from.path == "" {
			continue
		}
		payload, err := readFile(from.path)
		if err != nil {
			return nil, fault.Newf(fault.Invalid, "--%s: %v", from.setting, err)
		}
		held[i].pem = payload
	}
	return held, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > largestFile {
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", path, largestFile)
	}
	return os.ReadFile(path)
}

func digest(held []contents, err error) (sum [sha256.Size]byte) {
	hash := sha256.New()
	for _, c := range held {
		_, _ = fmt.Fprintf(hash, "%d:", len(c.pem))
		_, _ = hash.Write(c.pem)
	}
	if err != nil {
		_, _ = fmt.Fprint(hash, err)
	}
	hash.Sum(sum[:0])
	return sum
}
