package postgres_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// The URL has all settings of TLS, as for every client of Postgres.
func TestConnectionsByTLSAreVerified(t *testing.T) {
	engine := testenv.Postgres(t)
	u, err := url.Parse(engine)
	require.NoError(t, err)
	password, _ := u.User.Password()
	testenv.RequireTLS(t, testenv.TLSTarget{
		Engine: testenv.Host(t, engine), Postgres: true, Secrets: []string{password}, NoServerName: true,
		Open: func(t *testing.T, front *testenv.TLSProxy, f tlsconfig.Files) (func() error, error) {
			parameters := url.Values{"sslmode": {"verify-full"}}
			for name, value := range map[string]string{"sslrootcert": f.CA, "sslcert": f.Cert, "sslkey": f.Key} {
				if value != "" {
					parameters.Set(name, value)
				}
			}
			db, err := pgtest.Connect(t.Context(), front.URL(engine, "postgres", parameters.Encode()), 2)
			if err != nil {
				return nil, err
			}
			t.Cleanup(db.Close)
			return func() error { return db.Ping(t.Context()) }, nil
		},
	})
}

func TestTLSFilesThatCannotBeUsedAreNamed(t *testing.T) {
	authority := testenv.NewAuthority(t)
	junk := filepath.Join(t.TempDir(), "junk.pem")
	require.NoError(t, os.WriteFile(junk, []byte("junk"), 0o600))
	pair := authority.Sign("livegraph", time.Hour)
	for parameters, want := range map[string]string{
		"sslmode=verify-full&sslrootcert=/no/such.pem":                      "/no/such.pem",
		"sslmode=verify-full&sslrootcert=" + junk:                           "unable to add CA",
		"sslmode=verify-full&sslcert=" + pair.Cert:                          "sslkey",
		"sslmode=verify-full&sslcert=" + pair.Cert + "&sslkey=" + junk:      "sslkey",
		"sslmode=verify-full&sslcert=" + pair.Cert + "&sslkey=/no/such.key": "/no/such.key",
		"sslmode=trust-me": "sslmode is invalid",
		"sslmode=verify-full&sslrootcert=" + authority.File + "&sslcert=" + junk + "&sslkey=" + pair.Key: "certificate",
	} {
		_, err := pgtest.Connect(t.Context(), "postgres://u:s3cret@localhost:1/d?"+parameters, 1)
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", parameters, err)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
		require.Equal(t, err, postgres.CheckURL("postgres://u:s3cret@localhost:1/d?"+parameters))
	}
}
