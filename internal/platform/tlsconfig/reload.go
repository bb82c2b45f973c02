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
	// checkInterval is the minimum time between two checks of the files.
	checkInterval = time.Second
	// maxFileBytes is the maximum size of a file: a bundle of all public CAs is below
	// 300 KB.
	maxFileBytes = 4 << 20
)

// file is a path and the setting that it comes from.
type file struct{ setting, path string }

// reloader has a value that is built from files, and rebuilt when they change.
type reloader[T any] struct {
	files []file
	build func([]contents) (T, error)

	mu         sync.Mutex
	checkedAt  time.Time
	lastDigest [sha256.Size]byte // of the contents of the files, or of the error
	value      T
}

// newReloader reads the files and builds the value. Files without a path have no contents.
func newReloader[T any](files []file, build func([]contents) (T, error)) (*reloader[T], error) {
	r := &reloader[T]{files: files, build: build, checkedAt: time.Now()}
	loaded, err := r.read()
	if err != nil {
		return nil, err
	}
	r.lastDigest = digest(loaded, nil)
	r.value, err = build(loaded)
	return r, err
}

// current returns the value for the contents of the files, which are at most a second old.
// Contents that cannot be used are logged once.
func (r *reloader[T]) current() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.checkedAt) < checkInterval {
		return r.value
	}
	r.checkedAt = time.Now()
	loaded, err := r.read()
	sum := digest(loaded, err)
	if sum == r.lastDigest {
		return r.value
	}
	r.lastDigest = sum
	var fresh T
	if err == nil {
		fresh, err = r.build(loaded)
	}
	if err != nil {
		slog.Warn("TLS files have changed and cannot be used; the previous ones stay in use", "error", err)
		return r.value
	}
	slog.Info("TLS files have changed and are used from now on", "files", r.paths())
	r.value = fresh
	return fresh
}

func (r *reloader[T]) paths() []string {
	var paths []string
	for _, file := range r.files {
		if file.path != "" {
			paths = append(paths, file.path)
		}
	}
	return paths
}

func (r *reloader[T]) read() ([]contents, error) {
	loaded := make([]contents, len(r.files))
	for i, file := range r.files {
		loaded[i] = contents{setting: file.setting, path: file.path}
		if file.path == "" {
			continue
		}
		payload, err := readFile(file.path)
		if err != nil {
			return nil, fault.Newf(fault.Invalid, "--%s: %v", file.setting, err)
		}
		loaded[i].pem = payload
	}
	return loaded, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", path, maxFileBytes)
	}
	return os.ReadFile(path)
}

func digest(loaded []contents, err error) (sum [sha256.Size]byte) {
	hash := sha256.New()
	for _, c := range loaded {
		_, _ = fmt.Fprintf(hash, "%d:", len(c.pem))
		_, _ = hash.Write(c.pem)
	}
	if err != nil {
		_, _ = fmt.Fprint(hash, err)
	}
	hash.Sum(sum[:0])
	return sum
}
