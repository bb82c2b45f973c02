// Package migration brings the schema of a store to a version, by the migrations that
// this version of Livegraph has. It refuses what these migrations do not know.
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

// Latest stands for the last migration that there is.
const Latest = math.MaxInt64

// To runs the migrations up to a version, those that the store has had left out. A
// store that is further stays as it is.
//
// It is fault.Invalid when the store is further than the last migration that there is,
// for a newer version made it so and this one would not keep what that one keeps there;
// or when version is further.
func To(ctx context.Context, store string, provider *goose.Provider, version int64) error {
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrating %s: %w", store, err)
	}
	if err := known(store, current, newest, version); err != nil {
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

func known(store string, current, newest, version int64) error {
	switch {
	case current > newest:
		return newer(store, current, newest)
	case version != Latest && version > newest:
		return fault.Newf(
			fault.Invalid,
			"it was made by a newer version of Livegraph (migration %d of %s; this version knows those up to %d): "+
				"use that version or a later one", version, store, newest,
		)
	}
	return nil
}

func newer(store string, current, newest int64) error {
	return fault.Newf(
		fault.Invalid,
		"the schema of %s is of a newer version of Livegraph (migration %d; this version knows those up to %d): "+
			"run that version or a later one; there is no way back but a backup of before", store, current, newest,
	)
}

// Known refuses a schema that a newer version made; files are the migrations there are.
func Known(store string, current int64, files fs.FS) error {
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
		return newer(store, current, newest)
	}
	return nil
}
