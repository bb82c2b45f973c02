// Package migration migrates the schema of a store to a version, with the migrations of this
// version of Livegraph. It rejects schemas of newer versions.
package migration

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math"

	"github.com/pressly/goose/v3"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Latest is the version of the last migration.
const Latest = math.MaxInt64

// Run runs the migrations up to a version, except for those that the store already has. It does
// not change a store with a later version.
//
// It returns fault.Invalid if the store has a later version than the last migration: a newer
// version of Livegraph migrated it, and this one would not maintain the data of that schema. It
// also returns fault.Invalid if version is later than the last migration.
func Run(ctx context.Context, store string, provider *goose.Provider, version int64) error {
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrating %s: %w", store, err)
	}
	if err := checkVersion(store, current, newest, version); err != nil {
		return err
	}
	results, err := provider.UpTo(ctx, version)
	if err != nil {
		return fmt.Errorf("migrating %s: %w", store, err)
	}
	for _, done := range results {
		slog.InfoContext(ctx, "migrated", "store", store, "migration", done.Source.Path, "duration", done.Duration)
	}
	return nil
}

func checkVersion(store string, current, newest, version int64) error {
	switch {
	case current > newest:
		return newerSchemaError(store, current, newest)
	case version != Latest && version > newest:
		return fault.Newf(
			fault.Invalid,
			"it was made by a newer version of Livegraph (migration %d of %s; this version knows those up to %d): "+
				"use that version or a later one", version, store, newest,
		)
	}
	return nil
}

func newerSchemaError(store string, current, newest int64) error {
	return fault.Newf(
		fault.Invalid,
		"the schema of %s is of a newer version of Livegraph (migration %d; this version knows those up to %d): "+
			"run that version or a later one; there is no way back but a backup of before", store, current, newest,
	)
}

// CheckVersion returns an error if the schema is of a newer version of Livegraph. files are the
// migrations.
func CheckVersion(store string, current int64, files fs.FS) error {
	names, err := fs.Glob(files, "*/*.sql")
	if err != nil {
		return fmt.Errorf("listing the migrations of %s: %w", store, err)
	}
	var newest int64
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return fmt.Errorf("listing the migrations of %s: %w", store, err)
		}
		newest = max(newest, version)
	}
	if current > newest {
		return newerSchemaError(store, current, newest)
	}
	return nil
}
