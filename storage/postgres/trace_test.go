package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStatementIsNamedByVerbAndTable(t *testing.T) {
	for sql, want := range map[string][2]string{
		"\n\t\tSELECT id, name FROM workspaces WHERE id = $1": {"SELECT", "workspaces"},
		"INSERT INTO watermarks AS w (topic_id) VALUES ($1)":  {"INSERT", "watermarks"},
		"insert into operators(id) values ($1)":               {"INSERT", ""},
		"UPDATE api_keys SET revoked_at = now()":              {"UPDATE", "api_keys"},
		"DELETE FROM pending_deletions WHERE id = $1":         {"DELETE", "pending_deletions"},
		"SELECT 1 FROM (SELECT 2 FROM sources) x":             {"SELECT", "sources"},
		"SELECT now()": {"SELECT", ""},
		"begin":        {"BEGIN", ""},
		"":             {"", ""},
		"SELECT 'FROM kanarienvogel' FROM sources":                  {"SELECT", "sources"},
		"WITH x AS (SELECT m FROM series s) SELECT count(*) FROM x": {"WITH", "series"},
	} {
		verb, table := summary(sql)
		require.Equal(t, want, [2]string{verb, table}, sql)
	}
}
