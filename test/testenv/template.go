package testenv

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// postgresTemplate is the template database of migrated databases.
const postgresTemplate = "migrated"

// migrated creates the template once. Copying it is faster than running the migrations.
var migrated = sync.OnceValue(func() error {
	server, err := postgresServer()
	if err != nil {
		return err
	}
	superuser, err := postgresSuperuser()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := runPostgres(ctx, superuser, createDatabase(postgresTemplate, ownedByApplication)); err != nil {
		return err
	}
	address, err := replacePath(server.Address(), postgresTemplate)
	if err != nil {
		return err
	}
	db, err := stores.Open(ctx, address, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Migrate(ctx)
})

// MigratedPostgres is like [Postgres], but its database has all migrations and no data.
func MigratedPostgres(t testing.TB) string {
	t.Helper()
	server := started(t, postgresServer)
	if err := migrated(); err != nil {
		t.Fatalf("testenv: migrating the template: %v", err)
	}
	_, name := postgresDatabase(t, ownedByApplication+` TEMPLATE `+postgresTemplate)
	return withPath(t, server.Address(), name)
}

func createDatabase(name, options string) string {
	return fmt.Sprintf(`CREATE DATABASE %s%s`, name, options)
}
