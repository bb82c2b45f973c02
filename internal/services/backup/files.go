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

// copyBytes is the size of a read of a file.
const copyBytes = 1 << 20

// Progress is the progress of a backup, a check or a restore.
type Progress struct {
	Step  string // such as "reading postgres/nodes"
	Rows  int64  // of this step, so far
	Bytes int64  // of all files, so far
	Total int64  // of all files; 0: not known yet
}

// meter reports the progress to a callback.
type meter struct {
	report   func(Progress)
	progress Progress
}

func newMeter(report func(Progress), total int64) *meter {
	if report == nil {
		report = func(Progress) {}
	}
	return &meter{report: report, progress: Progress{Total: total}}
}

func (m *meter) startStep(doing string) {
	m.progress.Step, m.progress.Rows = doing, 0
	m.report(m.progress)
}

func (m *meter) addRows(n int64) {
	m.progress.Rows += n
	m.report(m.progress)
}

func (m *meter) addBytes(n int64) {
	m.progress.Bytes += n
	m.report(m.progress)
}

// hashingWriter writes to dst, computes the digest of the bytes, and counts them.
type hashingWriter struct {
	dst   io.Writer
	sum   hash.Hash
	bytes int64
	meter *meter
}

func (c *hashingWriter) Write(p []byte) (int, error) {
	n, err := c.dst.Write(p)
	c.sum.Write(p[:n]) // never fails
	c.bytes += int64(n)
	c.meter.addBytes(int64(n))
	return n, err
}

// writeFile creates a file of the backup. fill writes the uncompressed content and returns its
// number of rows. The file is durable when writeFile returns.
func writeFile(dir string, f *File, m *meter, fill func(io.Writer) (rows int64, err error)) (err error) {
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("creating the backup's folder: %w", err)
	}
	err = durable.Write(path, 0o600, func(file io.Writer) error {
		w := &hashingWriter{dst: file, sum: sha256.New(), meter: m}
		compressor, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("compressing: %w", err)
		}
		f.Rows, err = fill(compressor)
		err = errors.Join(err, compressor.Close())
		f.Bytes, f.SHA256 = w.bytes, hex.EncodeToString(w.sum.Sum(nil))
		return err
	})
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.Name, err)
	}
	return nil
}

// readFile calls read with the uncompressed content of a file.
func readFile(dir string, f *File, read func(io.Reader) error) (err error) {
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Name)))
	if err != nil {
		return fmt.Errorf("opening a file of the backup: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", f.Name, err)
	}
	defer content.Close()
	return read(content)
}

// Check reads all files of a backup and returns its manifest. It returns fault.Invalid if a file is
// missing, truncated or altered.
func Check(ctx context.Context, dir string, report func(Progress)) (*Manifest, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	progress := newMeter(report, m.Bytes())
	for i := range m.Files {
		if err := checkFile(ctx, dir, &m.Files[i], progress); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func checkFile(ctx context.Context, dir string, f *File, m *meter) error {
	m.startStep("checking " + f.Name)
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(f.Name)))
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Newf(fault.Invalid, "the backup in %s is incomplete: %s is missing", dir, f.Name)
	}
	if err != nil {
		return fmt.Errorf("opening a file of the backup: %w", err)
	}
	defer func() { _ = file.Close() }()
	w := &hashingWriter{dst: io.Discard, sum: sha256.New(), meter: m}
	if _, err := io.CopyBuffer(w, contextReader(ctx, file), make([]byte, copyBytes)); err != nil {
		return fmt.Errorf("reading %s: %w", f.Name, err)
	}
	switch {
	case w.bytes < f.Bytes:
		return fault.Newf(
			fault.Invalid, "the backup in %s is incomplete: %s was cut off at %d of %d bytes", dir, f.Name, w.bytes, f.Bytes,
		)
	case hex.EncodeToString(w.sum.Sum(nil)) != f.SHA256:
		return fault.Newf(
			fault.Invalid, "the backup in %s was altered: %s does not have the digest that it was written with", dir, f.Name,
		)
	}
	return nil
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// contextReader returns a reader of r that fails once ctx is done.
func contextReader(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

// makeDir creates the folder of a new backup. It returns fault.Conflict if the folder is not empty.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating the backup's folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the backup's folder: %w", err)
	}
	if len(entries) > 0 {
		return fault.Newf(fault.Conflict, "%s is not empty: a backup requires an empty folder", dir)
	}
	return nil
}
