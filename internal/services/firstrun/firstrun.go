// Package firstrun sets up a new installation, once: it creates the workspace
// "default", an admin key for it, and an operator. It writes the key and the
// operator's password to first-run.json, the only place that contains them.
//
// A crash at any point leaves either an installation that is not set up, or one
// that has its file: the file is written under another name before the
// transaction commits and renamed afterwards, at the next start if necessary.
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
	URL           string    `json:"url"` // base URL of the API
	AdminUser     string    `json:"adminUser"`
	AdminPassword string    `json:"adminPassword"`
}

// Path returns the path of first-run.json in a data directory.
func Path(dataDir string) string { return filepath.Join(dataDir, fileName) }

// Read reads first-run.json. It returns fs.ErrNotExist if the file has been removed.
func Read(dataDir string) (Record, error) { return read(Path(dataDir)) }

// Ensure sets up the installation unless that is done already. created is true for
// the one call that did it, among all processes; its record is to be shown to the
// user. url is the base URL of the API; if it has changed, Ensure updates the file.
func Ensure(ctx context.Context, db *access.Store, dataDir, url string) (record Record, created bool, err error) {
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

// setUp sets up the installation. It returns the zero Record if another process has done it.
func setUp(ctx context.Context, db *access.Store, dataDir, url string) (Record, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Record{}, fmt.Errorf("creating a workspace id: %w", err)
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
		return Record{}, err // the transaction may have been committed: keep the pending file
	}
	if !done {
		return Record{}, os.Remove(pending)
	}
	return record, publish(dataDir)
}

// finish completes a set-up that a crash interrupted. It renames a pending file whose
// key exists, and removes any other, whose set-up was not committed.
func finish(ctx context.Context, db *access.Store, dataDir string) error {
	pending := filepath.Join(dataDir, pendingName)
	record, err := read(pending)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	key, parseErr := apikey.Parse(record.AdminKey)
	if err != nil || parseErr != nil { // incomplete: its set-up cannot have started
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

// publish renames the pending file to first-run.json, durably.
func publish(dataDir string) error {
	if err := durable.Rename(filepath.Join(dataDir, pendingName), Path(dataDir)); err != nil {
		return fmt.Errorf("renaming %s: %w", fileName, err)
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

// write writes the record durably, because no other place contains the key, and
// readable only by the owner of the file.
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
