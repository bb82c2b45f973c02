package postgres

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// WithDirectURL declares that the URL of the DB is that of a pooler in transaction mode, such as PgBouncer, and
// that direct is the URL of the server itself. Successive transactions of a connection then run in different
// sessions of the server, so the connections keep nothing in a session: statements are not prepared, and the
// server's timeouts are those of the role. Migrations, which lock a session, use direct. With an empty direct
// it does nothing.
func WithDirectURL(direct string) Option {
	return func(o *openOptions) { o.directURL = direct }
}

// AsReplica declares that the DB is a streaming replica: it is opened even if the server does not respond, and its
// transactions are read-only, also after a promotion.
func AsReplica() Option {
	return func(o *openOptions) { o.replica = true }
}

// execModeParameter is the parameter of the URL that determines how the driver sends statements.
const execModeParameter = "default_query_exec_mode"

// setPooled sets the parameters of connections to a pooler, except those that url sets. The pooler refuses
// connections that set other parameters at their start.
func setPooled(cfg *pgx.ConnConfig, url string) {
	setCommon(cfg)
	if !strings.Contains(url, execModeParameter) {
		// The types of arguments and results are cached here, and the server plans each execution.
		cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}

// migrationConfig returns the settings of the connections that migrate.
func (db *DB) migrationConfig() (*pgx.ConnConfig, error) {
	cfg := db.pool.Config().ConnConfig.Copy()
	if db.directURL != "" {
		direct, err := parseConfig(db.directURL)
		if err != nil {
			return nil, err
		}
		cfg = direct.ConnConfig
		setDefaults(cfg)
	}
	cfg.RuntimeParams["statement_timeout"] = "0"
	cfg.RuntimeParams["lock_timeout"] = "0"
	return cfg, nil
}
