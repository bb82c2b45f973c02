package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/livegraph/livegraph/internal/platform/durable"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// copyBytes is how much of a file is read at once.
const copyBytes = 1 << 20

// Progress reports how far the work is.
type Progress struct {
	Doing string // such as "reading postgres/nodes"
	Rows  int64  // of that, so far
	Bytes int64  // of all files, so far
	Total int64  // of all files; 0: not known yet
}

// meter tells somebody of the progress.
type meter struct {
	tell func(Progress)
	at   Progress
}

func newMeter(tell func(Progress), total int64) *meter {
	if tell == nil {
		tell = func(Progress) {}
	}
	return &meter{tell: tell, at: Progress{Total: total}}
}

func (m *meter) begin(doing string) {
	m.at.Doing, m.at.Rows = doing, 0
	m.tell(m.at)
}

func (m *meter) rows(n int64) {
	m.at.Rows += n
	m.tell(m.at)
}

func (m *meter) bytes(n int64) {
	m.at.Bytes += n
	m.tell(m.at)
}

// counted passes bytes on to a file, adds them to its digest, and counts them.
type counted struct {
	to    io.Writer
	sum   hash.Hash
	bytes int64
	meter *meter
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.sum.Write(p[:n]) // never fails
	c.bytes += int64(n)
	c.meter.bytes(int64(n))
	return n, err
}

// writeFile makes a file of the backup: fill writes what is compressed into it and gives
// how many rows that is. The file is durable when this returns.
func writeFile(dir string, f *File, m *meter, fill func(io.Writer) (rows int64, err error)) (err error) {
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the backup's folder: %w", err)
	}
	err = durable.Write(path, 0o600, func(file io.Writer) error {
		to := &counted{to: file, sum: sha256.New(), meter: m}
		packed, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("compressing: %w", err)
		}
		f.Rows, err = fill(packed)
		err = errors.Join(err, packed.Close())
		f.Bytes, f.SHA256 = to.bytes, hex.EncodeToString(to.sum.Sum(nil))
		return err
	})
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.Name, err)
	}
	return nil
}

// readFile returns what is compressed in a file to read.
func readFile(dir string, f *File, read func(io.Reader) error) (err error) {
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Name)))
	if err != nil {
		return fmt.Errorf("opening a file of the backup: %w", err)
	}
	defer func() { _ = file.Close() }()
	packed, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", f.Name, err)
	}
	defer packed.Close()
	return read(packed)
}

// Check reads a backup whole and refuses it, fault.Invalid, unless every file is there
// as it was written.
func Check(ctx context.Context, dir string, tell func(Progress)) (*Manifest, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	progress := newMeter(tell, m.Bytes())
	for i := range m.Files {
		if err := checkFile(ctx, dir, &m.Files[i], progress); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func checkFile(ctx context.Context, dir string, f *File, m *meter) error {
	m.begin("checking " + f.Name)
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Name)))
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Newf(fault.Invalid, "the backup in %s is not whole: %s is missing", dir, f.Name)
	}
	if err != nil {
		return fmt.Errorf("opening a file of the backup: %w", err)
	}
	defer func() { _ = file.Close() }()
	to := &counted{to: io.Discard, sum: sha256.New(), meter: m}
	if _, err := io.CopyBuffer(to, until(ctx, file), make([]byte, copyBytes)); err != nil {
		return fmt.Errorf("reading %s: %w", f.Name, err)
	}
	switch {
	case to.bytes < f.Bytes:
		return fault.Newf(
			fault.Invalid, "the backup in %s is not whole: %s was cut off at %d of %d bytes", dir, f.Name, to.bytes, f.Bytes,
		)
	case hex.EncodeToString(to.sum.Sum(nil)) != f.SHA256:
		return fault.Newf(
			fault.Invalid, "the backup in %s was altered: %s does not have the digest that it was written with", dir, f.Name,
		)
	}
	return nil
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// until reads as long as ctx lasts.
func until(ctx context.Context, from io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return from.Read(p)
	})
}

// makeDir creates the folder of a new backup, and refuses one in which anything is.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the backup's folder: %w", err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the backup's folder: %w", err)
	}
	if len(there) > 0 {
		return fault.Newf(fault.Conflict, "%s is not empty: a backup wants a folder of its own", dir)
	}
	return nil
}
