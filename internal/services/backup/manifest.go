// Package backup takes a backup of a running installation into a folder, and fills
// empty stores from one.
//
// A backup has what cannot be made again: of Postgres one moment of all tables but the
// few that are true of one running installation alone; of ClickHouse the points, texts,
// latest values and uses of keys; of Kafka the records that no consumer was done with,
// and the dead letters. Redis holds counters and caches, Milvus what is computed from
// the graph's texts: neither is in it. docs/adr/0036-backups.md says in which order the
// stores are read, and why nothing is lost or counted twice for it.
//
// The folder is whole when it has its manifest, which names every file with its size,
// its digest and what it holds. The package reads and writes stores by their own
// protocols, through the packages of storage; it starts and stops none.
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

// Stores that a file is of.
const (
	storePostgres   = "postgres"
	storeClickHouse = "clickhouse"
	storeKafka      = "kafka"
)

// Manifest describes a backup. It is manifest.json in its folder.
type Manifest struct {
	Product      string    `json:"product"`
	Format       int       `json:"format"`
	Version      string    `json:"version"` // of Livegraph that took it
	Installation uuid.UUID `json:"installation"`
	// BegunAt is when it was begun: what was acknowledged before is in it. PointsAt is
	// up to when points are in it, GraphAt the moment of everything in Postgres.
	BegunAt    time.Time `json:"begunAt"`
	PointsAt   time.Time `json:"pointsAt"`
	GraphAt    time.Time `json:"graphAt"`
	FinishedAt time.Time `json:"finishedAt"`
	// Schemas are the last migrations that the stores had had.
	Schemas Schemas `json:"schemas"`
	Topics  []Topic `json:"topics"`
	// Sequences are the last numbers of Postgres' sequences, by name.
	Sequences map[string]int64 `json:"sequences"`
	Files     []File           `json:"files"`
	// Digest is the SHA-256 of this file's JSON without it.
	Digest string `json:"digest,omitempty"`
}

// Schemas are migrations, by store.
type Schemas struct {
	Postgres   int64 `json:"postgres"`
	ClickHouse int64 `json:"clickhouse"`
}

// Topic is a topic as it was, with the range of each partition that is in the backup.
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

// of lists the files of a store.
func (m *Manifest) of(store string) (files []File) {
	for i := range m.Files {
		if m.Files[i].Store == store {
			files = append(files, m.Files[i])
		}
	}
	return files
}

// digest computes the manifest's own.
func (m *Manifest) digest() (string, error) {
	bare := *m
	bare.Digest = ""
	payload, err := json.Marshal(&bare)
	if err != nil {
		return "", fmt.Errorf("writing the manifest: %w", err)
	}
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:]), nil
}

// write makes the backup a whole one.
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

// readManifest reads the manifest of a backup, and refuses what is none, what was not
// finished, what was altered, and what this version does not understand.
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
			fault.Invalid, "%s is not a backup of Livegraph: its %s is of something else, or was damaged", dir, manifestName,
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

// errNoBackup tells a folder that is no backup from one that was not finished.
func errNoBackup(dir string) error {
	for _, store := range []string{storePostgres, storeClickHouse, storeKafka} {
		if _, err := os.Stat(filepath.Join(dir, store)); err == nil {
			return fault.Newf(fault.Invalid, "the backup in %s was not finished: it has no %s; take it again", dir, manifestName)
		}
	}
	return fault.Newf(fault.Invalid, "%s is not a backup of Livegraph: it has no %s", dir, manifestName)
}
