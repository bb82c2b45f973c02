package config

import "time"

// Postgres holds the settings of Postgres, which stores the registry, the keys and the graph.
type Postgres struct {
	URL       Secret          `help:"URL of Postgres: postgres://user:password@host:5432/database (for TLS with ?sslmode=verify-full and sslrootcert, sslcert, sslkey as in libpq). Empty: embedded." env:"LIVEGRAPH_POSTGRES_URL"`
	DirectURL Secret          `help:"URL of Postgres itself, if postgres-url is the URL of PgBouncer in transaction mode. Migrations use it; all other connections use postgres-url, without prepared statements and with the timeouts of the role. Empty: postgres-url is Postgres itself, or PgBouncer in session mode." env:"LIVEGRAPH_POSTGRES_DIRECT_URL"`
	MaxConns  int32           `help:"Maximum number of connections of this process, and of those to the replica." default:"16" env:"LIVEGRAPH_POSTGRES_MAX_CONNS"`
	Replica   PostgresReplica `embed:"" prefix:"replica-"`
}

// PostgresReplica holds the settings of a streaming replica that answers reads of the graph.
type PostgresReplica struct {
	URL    Secret        `help:"URL of a streaming replica of postgres-url, which answers reads of the graph that it can answer like the primary. Of several servers (host:5432,host:5432 and ?target_session_attrs=standby) one is used at a time. Empty: none." env:"LIVEGRAPH_POSTGRES_REPLICA_URL"`
	MaxLag time.Duration `help:"Maximum lag of the replica. Above it, the primary answers all reads." default:"5s" env:"LIVEGRAPH_POSTGRES_REPLICA_MAX_LAG"`
}

// minReplicaLag is above the interval at which the lag is observed.
const minReplicaLag = time.Second

func (p *Postgres) validate(invalid func(setting, format string, args ...any)) {
	if p.URL == "" && p.DirectURL != "" {
		invalid("postgres-direct-url", "goes together with --postgres-url")
	}
	if p.URL == "" && p.Replica.URL != "" {
		invalid("postgres-replica-url", "goes together with --postgres-url")
	}
	if p.Replica.URL != "" && p.Replica.MaxLag < minReplicaLag {
		invalid("postgres-replica-max-lag", "must be at least %s", minReplicaLag)
	}
}
