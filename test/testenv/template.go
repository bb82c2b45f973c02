package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// postgresTemplate and clickhouseTemplate are the templates of migrated databases.
const (
	postgresTemplate   = "migrated"
	clickhouseTemplate = "livegraph_template"
)

// Migrate migrates the database at an address.
type Migrate func(ctx context.Context, address string) error

// postgresMigration is the result of the creation of the template.
var postgresMigration struct {
	sync.Once
	err error
}

// MigratedPostgres is like [Postgres], but its database is a copy of a template that migrate has migrated
// once. Copying is faster than running the migrations. Tests call pgtest.Migrated; this package does not
// import the stores, so that test binaries that need no store do not link them.
func MigratedPostgres(t testing.TB, migrate Migrate) string {
	t.Helper()
	server := started(t, postgresServer)
	postgresMigration.Do(func() { postgresMigration.err = migratePostgres(server.Address(), migrate) })
	if err := postgresMigration.err; err != nil {
		t.Fatalf("testenv: migrating the template: %v", err)
	}
	_, name := postgresDatabase(t, ownedByApplication+` TEMPLATE `+postgresTemplate)
	return withPath(t, server.Address(), name)
}

func migratePostgres(server string, migrate Migrate) error {
	superuser, err := postgresSuperuser()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
	defer cancel()
	if err := runPostgres(ctx, superuser, createDatabase(postgresTemplate, ownedByApplication)); err != nil {
		return err
	}
	address, err := replacePath(server, postgresTemplate)
	if err != nil {
		return err
	}
	return migrate(ctx, address)
}

// createDatabase returns the statement that creates a database. Copying the files of the template takes a third
// of the time of writing the copy to the log as well.
func createDatabase(name, options string) string {
	return fmt.Sprintf(`CREATE DATABASE %s%s STRATEGY FILE_COPY`, name, options)
}

// clickhouseTables has the statements that create the tables of the template, once it exists.
var clickhouseTables struct {
	sync.Mutex
	statements []string
}

// MigratedClickHouse is like [ClickHouse], but its database has all migrations and no data. Copies of the tables
// of a template take a fifth of the time of the migrations. Tests call chtest.Migrated; see [MigratedPostgres].
func MigratedClickHouse(t testing.TB, migrate Migrate) string {
	t.Helper()
	statements := templateStatements(t, migrate)
	address := ClickHouse(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("testenv: clickhouse: %v", err)
	}
	for _, statement := range statements {
		execClickHouse(t, address, strings.ReplaceAll(statement, copyName, strings.TrimPrefix(u.Path, "/")))
	}
	return address
}

func templateStatements(t testing.TB, migrate Migrate) []string {
	t.Helper()
	server := started(t, clickhouse)
	clickhouseTables.Lock()
	defer clickhouseTables.Unlock()
	if clickhouseTables.statements != nil {
		return clickhouseTables.statements
	}
	execClickHouse(t, server.Address(), `CREATE DATABASE IF NOT EXISTS `+clickhouseTemplate)
	address := withPath(t, server.Address(), clickhouseTemplate)
	ctx, cancel := context.WithTimeout(context.Background(), StartTimeout)
	defer cancel()
	if err := migrate(ctx, address); err != nil {
		t.Fatalf("testenv: migrating the template: %v", err)
	}
	if ClickHouseCluster() != "" {
		clickhouseTables.statements = clusterStatements(t, address)
		return clickhouseTables.statements
	}
	// Views last, because they need the tables.
	statements := createStatements(t, address, `database = currentDatabase() ORDER BY engine LIKE '%View', name`)
	for i, statement := range statements {
		statements[i] = strings.ReplaceAll(statement, clickhouseTemplate+".", copyName+".")
	}
	versions := "INSERT INTO " + copyName + ".goose_db_version SELECT * FROM " + clickhouseTemplate + ".goose_db_version"
	clickhouseTables.statements = slices.Concat(statements, []string{versions})
	return clickhouseTables.statements
}

// copyName is the name of the copy of the template in statements.
const copyName = "{copy}"

// clusterStatements returns the statements for a cluster: for the databases of the shards, whose names begin
// with that of the database, then for the database.
func clusterStatements(t testing.TB, address string) (statements []string) {
	ofShards := "startsWith(%s, '" + clickhouseTemplate + "__s')"
	databases := QueryClickHouse(t, address, "SELECT name FROM system.databases WHERE "+fmt.Sprintf(ofShards, "name"))
	for name := range strings.Lines(databases) {
		statements = append(statements, "CREATE DATABASE "+strings.TrimSpace(name))
	}
	statements = append(statements, createStatements(t, address, fmt.Sprintf(ofShards, "database")+` OR
		database = currentDatabase() ORDER BY database = currentDatabase(), engine = 'Distributed', name`)...)
	for i, statement := range statements {
		statements[i] = strings.ReplaceAll(statement, clickhouseTemplate, copyName)
	}
	const versions = "__s1.goose_db_version_local"
	return append(statements, "INSERT INTO "+copyName+versions+" SELECT * FROM "+clickhouseTemplate+versions)
}

// createStatements returns the statements that create the tables that a condition selects.
func createStatements(t testing.TB, address, where string) (statements []string) {
	rows := QueryClickHouse(
		t, address, "SELECT name, create_table_query FROM system.tables WHERE "+where+" FORMAT JSONCompactEachRow",
	)
	for line := range strings.Lines(rows) {
		var table [2]string
		if err := json.Unmarshal([]byte(line), &table); err != nil {
			t.Fatalf("testenv: clickhouse: %v: %s", err, line)
		}
		statements = append(statements, table[1])
	}
	return statements
}
