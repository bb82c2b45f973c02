// Package firstrun sets up a new installation, once: the workspace "default",
// an admin key for it and an operator, told to the owner in first-run.json, the
// only place where the key and the password can be read.
//
// A crash at any point leaves either an installation that is not set up, or one
// whose file is there: the file is written under another name before the
// transaction commits and gets its name afterwards, at the next start if need be.
package firstrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/internal/platform/durable"
	"github.com/livegraph/livegraph/internal/platform/password"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

const (
	fileName    = "first-run.json"
	pendingName = fileName + ".pending"

	workspaceName = "default"
	operatorName  = "admin"
)

// Record is the content of first-run.json.
type Record struct {
	WorkspaceID   uuid.UUID `json:"workspaceId"`
	AdminKey      string    `json:"adminKey"`
	URL           string    `json:"url"` // the API's base address
	AdminUser     string    `json:"adminUser"`
	AdminPassword string    `json:"adminPassword"`
}

// Path returns where first-run.json is under a data directory.
func Path(dataDir string) string { return filepath.Join(dataDir, fileName) }

// Read reads first-run.json; fs.ErrNotExist when its owner has removed it.
func Read(dataDir string) (Record, error) { return read(Path(dataDir)) }

// Ensure sets the installation up unless it is. made is true for the one call
// that did, on whichever machine; its record is what to show the owner. url is
// the API's base address; when it has changed since, the file is corrected.
func Ensure(ctx context.Context, db *stores.DB, dataDir, url string) (record Record, made bool, err error) {
	if err := finish(ctx, db, dataDir); err != nil {
		return Record{}, false, err
	}
	done, err := db.IsSetUp(ctx)
	if err != nil {
		return Record{}, false, err
	}
	if done {
		return Record{}, false, correctURL(dataDir, url)
	}
	record, err = setUp(ctx, db, dataDir, url)
	if err != nil {
		return Record{}, false, err
	}
	return record, record.AdminKey != "", nil
}

// setUp returns the zero record when another process was faster.
func setUp(ctx context.Context, db *stores.DB, dataDir, url string) (Record, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Record{}, fmt.Errorf("making a workspace id: %w", err)
	}
	key := apikey.Generate(apikey.Live)
	record := Record{
		WorkspaceID: id, AdminKey: key.Reveal(), URL: url, AdminUser: operatorName, AdminPassword: password.Generate(),
	}
	pending := filepath.Join(dataDir, pendingName)
	if err := write(pending, record); err != nil {
		return Record{}, err
	}
	done, err := db.SetUp(ctx, access.Setup{
		Workspace: access.Workspace{ID: id, Name: workspaceName, Plan: access.PlanEnterprise, Mode: apikey.Live},
		Key: access.NewKey{
			Hash: key.Hash(), Display: key.Display(), Name: "first run", Mode: apikey.Live,
			Scopes: []string{"admin"}, Workspaces: []uuid.UUID{id}, CreatedBy: "first run",
		},
		OperatorName: operatorName, PasswordHash: password.Hash(record.AdminPassword),
	})
	if err != nil {
		return Record{}, err // it may have been committed: the pending file stays
	}
	if !done {
		return Record{}, os.Remove(pending)
	}
	return record, publish(dataDir)
}

// finish ends what a crash interrupted: a pending file whose key exists gets its
// name, another is from a set-up that never was.
func finish(ctx context.Context, db *stores.DB, dataDir string) error {
	pending := filepath.Join(dataDir, pendingName)
	record, err := read(pending)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	key, parseErr := apikey.Parse(record.AdminKey)
	if err != nil || parseErr != nil { // half a file: its set-up cannot have begun
		return os.Remove(pending)
	}
	credential, _, err := db.CredentialByHash(ctx, key.Hash())
	if err != nil {
		return err
	}
	if credential == nil {
		return os.Remove(pending)
	}
	return publish(dataDir)
}

// publish renames the pending file to its name, durably.
func publish(dataDir string) error {
	if err := durable.Rename(filepath.Join(dataDir, pendingName), Path(dataDir)); err != nil {
		return fmt.Errorf("naming %s: %w", fileName, err)
	}
	return nil
}

func correctURL(dataDir, url string) error {
	record, err := Read(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || record.URL == url {
		return err
	}
	record.URL = url
	return write(Path(dataDir), record)
}

func read(path string) (Record, error) {
	var record Record
	payload, err := os.ReadFile(path)
	if err != nil {
		return record, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
	}
	if err := json.Unmarshal(payload, &record); err != nil {
		return record, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
	}
	return record, nil
}

// write writes the record for its owner's eyes only, and durably: the key in it
// is nowhere else.
func write(path string, record Record) error {
	payload, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", filepath.Base(path), err)
	}
	if err := durable.WriteFile(path, append(payload, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return nil
}
