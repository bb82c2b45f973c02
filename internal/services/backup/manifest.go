// Package backup takes a backup of a running installation into a folder, and restores a
// backup into empty stores.
//
// A backup contains what cannot be computed again:
//
//   - a snapshot of all Postgres tables, except for the few that are specific to a running
//     installation;
//   - the points, string values, exemplars, latest values and audit records of ClickHouse;
//   - the records of Kafka that no consumer has processed, and the dead letters.
//
// It does not contain Redis, which has counters and caches, or Milvus, which has vectors
// that are computed from the texts of the graph. docs/adr/0036-backups.md describes the
// order in which the stores are read, and why nothing is lost or counted twice.
//
// A backup is complete when its folder has the manifest, which lists every file with its
// size, digest and content. The package reads and writes the stores by their protocols,
// through the packages of storage. It does not start or stop them.
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/durable"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse/dump"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
)

const (
	manifestName = "manifest.json"
	product      = "livegraph"
	format       = 1
)

// The stores, as named in manifest and file paths.
const (
	storePostgres   = "postgres"
	storeClickHouse = "clickhouse"
	storeKafka      = "kafka"
)

// Manifest describes a backup. It is manifest.json in its folder.
type Manifest struct {
	Product      string    `json:"product"`
	Format       int       `json:"format"`
	Version      string    `json:"version"` // of the Livegraph that took the backup
	Installation uuid.UUID `json:"installation"`
	// StartedAt is the start of the backup, which contains everything that was acknowledged
	// before. PointsAt is the time up to which it contains points. GraphAt is the time of the
	// Postgres snapshot.
	StartedAt  time.Time `json:"begunAt"`
	PointsAt   time.Time `json:"pointsAt"`
	GraphAt    time.Time `json:"graphAt"`
	FinishedAt time.Time `json:"finishedAt"`
	// Schemas are the last applied migrations of the stores.
	Schemas Schemas `json:"schemas"`
	Topics  []Topic `json:"topics"`
	// Sequences are the last values of the Postgres sequences, by name.
	Sequences map[string]int64 `json:"sequences"`
	Files     []File           `json:"files"`
	// Digest is the SHA-256 of this file's JSON without it.
	Digest string `json:"digest,omitempty"`
}

// Schemas are the last applied migrations, by store.
type Schemas struct {
	Postgres   int64 `json:"postgres"`
	ClickHouse int64 `json:"clickhouse"`
}

// Topic is a topic at the time of the backup, with the range of each partition in the backup.
type Topic struct {
	Topic      string  `json:"topic"` // without the prefix
	ID         string  `json:"id"`    // in hexadecimal
	Partitions []Range `json:"partitions"`
}

// Range is a range of offsets, To exclusive, and the bytes of its records.
type Range struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Bytes int64 `json:"bytes"`
}

// File is a file of the backup.
type File struct {
	Name   string `json:"name"` // below the folder, with slashes
	Store  string `json:"store"`
	Rows   int64  `json:"rows"` // or records
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`

	Table *jobs.Table `json:"table,omitempty"` // of Postgres
	Part  *dump.Part  `json:"part,omitempty"`  // of ClickHouse
	Topic string      `json:"topic,omitempty"` // of Kafka
}

// Bytes returns the size of the backup.
func (m *Manifest) Bytes() (n int64) {
	for i := range m.Files {
		n += m.Files[i].Bytes
	}
	return n
}

// filesOf returns the files of a store.
func (m *Manifest) filesOf(store string) (files []File) {
	for i := range m.Files {
		if m.Files[i].Store == store {
			files = append(files, m.Files[i])
		}
	}
	return files
}

// digest returns the digest of the manifest, without the Digest field.
func (m *Manifest) digest() (string, error) {
	unsigned := *m
	unsigned.Digest = ""
	payload, err := json.Marshal(&unsigned)
	if err != nil {
		return "", fmt.Errorf("writing the manifest: %w", err)
	}
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:]), nil
}

// write writes the manifest with its digest, which completes the backup.
func (m *Manifest) write(dir string) (err error) {
	if m.Digest, err = m.digest(); err != nil {
		return err
	}
	payload, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	if err := durable.WriteFile(filepath.Join(dir, manifestName), append(payload, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	return nil
}

// readManifest reads the manifest of a backup. It returns fault.Invalid if the folder is not a
// backup, or if the backup is unfinished, altered or of an unsupported format.
func readManifest(dir string) (*Manifest, error) {
	payload, err := os.ReadFile(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoBackup(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(payload, &m); err != nil || m.Product != product {
		return nil, fault.Newf(
			fault.Invalid, "%s is not a backup of Livegraph: its %s is of another program or damaged", dir, manifestName,
		)
	}
	if m.Format != format {
		return nil, fault.Newf(
			fault.Invalid,
			"the backup in %s has format %d, and this version reads format %d: use the version that took it, %s, or a later one",
			dir, m.Format, format, m.Version,
		)
	}
	digest, err := m.digest()
	if err != nil {
		return nil, err
	}
	if digest != m.Digest {
		return nil, fault.Newf(
			fault.Invalid, "the backup in %s was altered: its %s does not have the digest that it was written with", dir,
			manifestName,
		)
	}
	for i := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(m.Files[i].Name)) {
			return nil, fault.Newf(fault.Invalid, "the backup in %s names a file outside of it", dir)
		}
	}
	return &m, nil
}

// errNoBackup returns the error for a folder without a manifest: an unfinished backup, or no backup.
func errNoBackup(dir string) error {
	for _, store := range []string{storePostgres, storeClickHouse, storeKafka} {
		if _, err := os.Stat(filepath.Join(dir, store)); err == nil {
			return fault.Newf(fault.Invalid, "the backup in %s was not finished: it has no %s; take it again", dir, manifestName)
		}
	}
	return fault.Newf(fault.Invalid, "%s is not a backup of Livegraph: it has no %s", dir, manifestName)
}
