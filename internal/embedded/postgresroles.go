package embedded

import (
	"context"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
)

// postgresSuperuser is the role that the cluster is made with, which cannot become less. It
// sets up what the application works with, and nothing else uses it.
const postgresSuperuser = "livegraph"

// PostgresApplication is the role with which the application logs in to the embedded
// Postgres. It owns a database: it can run no program and read no file by SQL.
const PostgresApplication = "livegraph_app"

// PostgresSuperuser is the address at which the superuser of an embedded Postgres logs in, for
// what the application may not do, as to make a database: dir is the engine's folder.
func PostgresSuperuser(dir string) (string, error) {
	ep, err := readEndpoint(dir)
	if err != nil {
		return "", err
	}
	return postgresURL(ep, postgresSuperuser, ep.Password, "postgres"), nil
}

// postgresURL is an address at which a role logs in to a database.
func postgresURL(ep endpoint, role, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(role, password),
		Host: ep.address(), Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// url is the address at which the application logs in.
func (pg *postgres) url() string {
	return postgresURL(pg.endpoint, PostgresApplication, pg.endpoint.Application, postgresDB)
}

// connect logs in as the superuser, for whom no transaction is read-only, however Postgres
// is set.
func (pg *postgres) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(postgresURL(pg.endpoint, postgresSuperuser, pg.endpoint.Password, database))
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["default_transaction_read_only"] = "off"
	return pgx.ConnectConfig(ctx, config)
}

// makeApplicationPassword creates the password of the application's role if there is none: an
// earlier version had one role.
func (s *site) makeApplicationPassword() (err error) {
	if s.endpoint.Application != "" {
		return nil
	}
	if s.endpoint.Application, err = randomText(passwordLen); err != nil {
		return err
	}
	return s.endpoint.save(s.Dir)
}

// setUp makes the database livegraph and the application's role, and gives the one to the
// other, so far as that is not done. An earlier version logged in as the superuser, to whom
// all belongs that it has made: it is given to the application, too.
func (pg *postgres) setUp(ctx context.Context) error {
	if err := pg.createDatabase(ctx); err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	conn, err := pg.connect(ctx, postgresDB)
	if err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	defer conn.Close(ctx)
	done, err := pg.handedOver(ctx, conn)
	if err == nil && !done {
		// All or nothing: the database's owner is changed together with all in it.
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return pg.handOver(ctx, tx) })
	}
	if err != nil {
		return fmt.Errorf("starting postgres: giving the database to its role: %w", err)
	}
	return nil
}

// createDatabase creates the database livegraph if it is not there.
func (pg *postgres) createDatabase(ctx context.Context) error {
	conn, err := pg.connect(ctx, "postgres")
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var there bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, postgresDB).Scan(&there)
	if err == nil && !there {
		_, err = conn.Exec(ctx, `CREATE DATABASE `+postgresDB)
	}
	return err
}

// handedOver reports whether nothing is to be done: the application can log in to a database
// of its own, with all in it, and may do nothing else.
func (pg *postgres) handedOver(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var stands bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba
		WHERE d.datname = current_database() AND r.rolname = $1 AND r.rolcanlogin
			AND NOT (r.rolsuper OR r.rolcreatedb OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls))
		AND NOT EXISTS (`+belongings+`)`,
		PostgresApplication).Scan(&stands)
	if err != nil || !stands {
		return false, err
	}
	own, err := pgx.Connect(ctx, pg.url())
	if err != nil {
		return false, ctx.Err() // the password is another
	}
	return true, own.Close(ctx)
}

// belongings give what in a database belongs to its superuser, as the beginning of a statement
// that gives it to somebody else. REASSIGN OWNED does not: the cluster's first role owns the
// cluster's own tables, too. What an extension has brought stays its own, and a sequence
// follows the table that it numbers.
const belongings = `WITH
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

// handOver makes the application's role, which may log in and nothing else, and gives it the
// database with all in it.
func (pg *postgres) handOver(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(
		ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, PostgresApplication,
	).Scan(&there); err != nil {
		return err
	}
	verb := "CREATE"
	if there {
		verb = "ALTER"
	}
	statements := []string{
		`SET LOCAL log_min_error_statement = panic`, // the next holds a password
		verb +
			` ROLE ` + PostgresApplication + ` LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD '` +
			pg.endpoint.Application + `'`,
		`RESET log_min_error_statement`,
	}
	rows, err := tx.Query(ctx, belongings)
	if err != nil {
		return err
	}
	given, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, what := range append(given, "ALTER DATABASE "+postgresDB) {
		statements = append(statements, what+" OWNER TO "+PostgresApplication)
	}
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
