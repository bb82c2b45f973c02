package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	chstore "github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/stores"
)

// postgresTemplate and clickhouseTemplate are the templates of migrated databases.
const (
	postgresTemplate   = "migrated"
	clickhouseTemplate = "livegraph_template"
)

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

// clickhouseTables has the statements that create the tables of the template, once it exists.
var clickhouseTables struct {
	sync.Mutex
	statements []string
}

// MigratedClickHouse is like [ClickHouse], but its database has all migrations and no data. Copies of the tables of a
// template take a fifth of the time of the migrations.
func MigratedClickHouse(t testing.TB) string {
	t.Helper()
	statements := templateStatements(t)
	address := ClickHouse(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("testenv: clickhouse: %v", err)
	}
	for _, statement := range statements {
		execClickHouse(t, address, strings.ReplaceAll(statement, clickhouseTemplate+".", strings.TrimPrefix(u.Path, "/")+"."))
	}
	return address
}

func templateStatements(t testing.TB) []string {
	t.Helper()
	server := started(t, clickhouse)
	clickhouseTables.Lock()
	defer clickhouseTables.Unlock()
	if clickhouseTables.statements != nil {
		return clickhouseTables.statements
	}
	execClickHouse(t, server.Address(), `CREATE DATABASE IF NOT EXISTS `+clickhouseTemplate)
	address := withPath(t, server.Address(), clickhouseTemplate)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	template, err := chstore.Open(ctx, address)
	if err != nil {
		t.Fatalf("testenv: clickhouse: %v", err)
	}
	defer func() { _ = template.Close() }()
	if err := template.Migrate(ctx); err != nil {
		t.Fatalf("testenv: migrating the template: %v", err)
	}
	// Views last, because they need the tables.
	rows := QueryClickHouse(t, address, `SELECT name, create_table_query FROM system.tables
		WHERE database = currentDatabase() ORDER BY engine LIKE '%View', name FORMAT JSONCompactEachRow`)
	for line := range strings.Lines(rows) {
		var table [2]string
		if err := json.Unmarshal([]byte(line), &table); err != nil {
			t.Fatalf("testenv: clickhouse: %v: %s", err, line)
		}
		clickhouseTables.statements = append(clickhouseTables.statements, table[1])
	}
	// The quotes keep the second name.
	clickhouseTables.statements = append(clickhouseTables.statements,
		"INSERT INTO "+clickhouseTemplate+".goose_db_version SELECT * FROM `"+clickhouseTemplate+"`.goose_db_version")
	return clickhouseTables.statements
}
