package embedded

import (
	"context"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/embedded/engine"
)

// postgresSuperuser is the bootstrap role of the cluster, which cannot lose its privileges. It
// is used only to set up the database of the application.
const postgresSuperuser = "livegraph"

// PostgresApplication is the role of the application in the embedded Postgres. It owns its
// database, but cannot run programs or read files with SQL.
const PostgresApplication = "livegraph_app"

// PostgresSuperuser returns the URL for the superuser of an embedded Postgres, for operations that
// the application's role cannot do, such as creating a database. dir is the engine's folder.
func PostgresSuperuser(dir string) (string, error) {
	ep, err := engine.ReadEndpoint(dir)
	if err != nil {
		return "", err
	}
	return postgresURL(ep, postgresSuperuser, ep.Password, "postgres"), nil
}

// postgresURL returns the URL for a role and a database.
func postgresURL(ep engine.Endpoint, role, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(role, password),
		Host: ep.Address(), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// url returns the URL for the application.
func (pg *postgres) url() string {
	return postgresURL(pg.Endpoint, PostgresApplication, pg.Endpoint.Application, postgresDB)
}

// connect connects as the superuser, with read-write transactions regardless of the settings of
// Postgres.
func (pg *postgres) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(postgresURL(pg.Endpoint, postgresSuperuser, pg.Endpoint.Password, database))
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["default_transaction_read_only"] = "off"
	return pgx.ConnectConfig(ctx, config)
}

// ensureApplicationPassword creates the password of the application's role if there is none,
// because earlier versions had only one role.
func ensureApplicationPassword(s *engine.Setup) (err error) {
	if s.Endpoint.Application != "" {
		return nil
	}
	if s.Endpoint.Application, err = engine.NewPassword(); err != nil {
		return err
	}
	return s.Endpoint.Save(s.Dir)
}

// setUp creates the database livegraph and the application's role, and makes the role the owner
// of the database, unless that is done. In earlier versions, the application used the superuser,
// which owns the objects of that time. Their owner is changed, too.
func (pg *postgres) setUp(ctx context.Context) error {
	if err := pg.createDatabase(ctx); err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	conn, err := pg.connect(ctx, postgresDB)
	if err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	defer conn.Close(ctx)
	done, err := pg.ownershipTransferred(ctx, conn)
	if err == nil && !done {
		// One transaction: the owner of the database is changed together with its objects.
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return pg.handOver(ctx, tx) })
	}
	if err != nil {
		return fmt.Errorf("starting postgres: giving the database to its role: %w", err)
	}
	return nil
}

// createDatabase creates the database livegraph if it does not exist.
func (pg *postgres) createDatabase(ctx context.Context) error {
	conn, err := pg.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, postgresDB).Scan(&exists)
	if err == nil && !exists {
		_, err = conn.Exec(ctx, `CREATE DATABASE `+postgresDB)
	}
	return err
}

// ownershipTransferred reports whether the application can log in, owns the database and its
// objects, and has no other privileges.
func (pg *postgres) ownershipTransferred(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var transferred bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba
		WHERE d.datname = current_database() AND r.rolname = $1 AND r.rolcanlogin
			AND NOT (r.rolsuper OR r.rolcreatedb OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls))
		AND NOT EXISTS (`+ownedObjects+`)`,
		PostgresApplication).Scan(&transferred)
	if err != nil || !transferred {
		return false, err
	}
	application, err := pgx.Connect(ctx, pg.url())
	if err != nil {
		return false, ctx.Err() // the password is wrong
	}
	return true, application.Close(ctx)
}

// ownedObjects selects the objects of a database that the superuser owns, as the start of a
// statement that changes their owner. REASSIGN OWNED cannot be used, because the bootstrap role
// also owns the system tables. Objects of extensions are not included, nor sequences of columns,
// which follow their table.
const ownedObjects = `WITH
	spaces AS (SELECT oid FROM pg_namespace WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\_%'),
	me AS (SELECT oid FROM pg_roles WHERE rolname = current_user),
	bound AS (SELECT d.classid, d.objid FROM pg_depend d
		LEFT JOIN pg_class numbers ON d.classid = 'pg_class'::regclass AND numbers.oid = d.objid AND numbers.relkind = 'S'
		WHERE d.deptype = 'e' OR (numbers.oid IS NOT NULL AND d.refclassid = 'pg_class'::regclass
		AND d.deptype IN ('a', 'i')))
	SELECT 'ALTER SCHEMA ' || oid::regnamespace FROM pg_namespace
	WHERE oid IN (TABLE spaces) AND nspowner IN (TABLE me) AND ('pg_namespace'::regclass, oid) NOT IN (TABLE bound)
UNION ALL
	SELECT 'ALTER TABLE ' || oid::regclass FROM pg_class
	WHERE relnamespace IN (TABLE spaces) AND relowner IN (TABLE me) AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
		AND ('pg_class'::regclass, oid) NOT IN (TABLE bound)
UNION ALL
	SELECT 'ALTER ROUTINE ' || oid::regprocedure FROM pg_proc
	WHERE pronamespace IN (TABLE spaces) AND proowner IN (TABLE me) AND ('pg_proc'::regclass, oid) NOT IN (TABLE bound)
UNION ALL
	SELECT 'ALTER TYPE ' || t.oid::regtype FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
	WHERE t.typnamespace IN (TABLE spaces) AND t.typowner IN (TABLE me)
	AND (t.typtype IN ('d', 'e', 'r') OR c.relkind = 'c')
		AND ('pg_type'::regclass, t.oid) NOT IN (TABLE bound)
UNION ALL
	SELECT format('ALTER STATISTICS %s.%I', stxnamespace::regnamespace, stxname) FROM pg_statistic_ext
	WHERE stxnamespace IN (TABLE spaces) AND stxowner IN (TABLE me)`

// handOver creates the application's role, whose only privilege is to log in, and makes it
// the owner of the database and its objects.
func (pg *postgres) handOver(ctx context.Context, tx pgx.Tx) error {
	var exists bool
	if err := tx.QueryRow(
		ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, PostgresApplication,
	).Scan(&exists); err != nil {
		return err
	}
	verb := "CREATE"
	if exists {
		verb = "ALTER"
	}
	statements := []string{
		`SET LOCAL log_min_error_statement = panic`, // the next statement contains a password
		verb +
			` ROLE ` + PostgresApplication + ` LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD '` +
			pg.Endpoint.Application + `'`,
		`RESET log_min_error_statement`,
	}
	rows, err := tx.Query(ctx, ownedObjects)
	if err != nil {
		return err
	}
	alterations, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, alteration := range append(alterations, "ALTER DATABASE "+postgresDB) {
		statements = append(statements, alteration+" OWNER TO "+PostgresApplication)
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
