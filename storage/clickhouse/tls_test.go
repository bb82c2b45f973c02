package clickhouse_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestConnectionsByTLSAreVerified(t *testing.T) {
	engine := testenv.ClickHouse(t)
	u, err := url.Parse(engine)
	require.NoError(t, err)
	password, _ := u.User.Password()
	testenv.RequireTLS(t, testenv.TLSTarget{
		Engine: testenv.Host(t, engine), Secrets: []string{password},
		Open: func(t *testing.T, front *testenv.TLSProxy, f tlsconfig.Files) (func() error, error) {
			files, err := tlsconfig.NewClient(f)
			require.NoError(t, err)
			db, err := clickhouse.Open(t.Context(), front.URL(engine, "https", ""), clickhouse.WithTLS(files))
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = db.Close() })
			return func() error { return db.Ping(t.Context()) }, nil
		},
	})
}

// The embedded edition does not support the native protocol. The test therefore checks only the
// TLS handshake, which is independent of the protocol.
func TestTheNativeProtocolIsVerifiedAlike(t *testing.T) {
	engine := testenv.ClickHouse(t)
	authority := testenv.NewAuthority(t)
	for parameter, handshakes := range map[string]bool{"secure=true": true, "secure": true, "": false} {
		front := testenv.NewTLSProxy(t, testenv.Host(t, engine), authority.ServerConfig("localhost"))
		files, err := tlsconfig.NewClient(tlsconfig.Files{CA: authority.File})
		require.NoError(t, err)
		options, err := clickhouse.Driver(front.URL(engine, "clickhouse", parameter), files)
		require.NoError(t, err)
		require.Equal(t, handshakes, options.TLS != nil, parameter)
		if !handshakes {
			require.Nil(t, options.DialContext)
			continue
		}
		conn, err := options.DialContext(t.Context(), front.Address)
		require.NoError(t, err)
		require.NoError(t, conn.Close())

		_, err = clickhouse.Open(t.Context(), front.URL(engine, "clickhouse", parameter))
		require.ErrorContains(t, err, "unknown authority", "the system does not know it")
	}
}

func TestTLSDoesNotLetAWrongPasswordIn(t *testing.T) {
	engine := testenv.ClickHouse(t)
	authority := testenv.NewAuthority(t)
	front := testenv.NewTLSProxy(t, testenv.Host(t, engine), authority.ServerConfig("localhost"))
	files, err := tlsconfig.NewClient(tlsconfig.Files{CA: authority.File})
	require.NoError(t, err)
	for _, user := range []*url.Userinfo{url.UserPassword("default", "wr0ng"), url.User("default"), nil} {
		u, err := url.Parse(front.URL(engine, "https", ""))
		require.NoError(t, err)
		u.User = user
		_, err = clickhouse.Open(t.Context(), u.String(), clickhouse.WithTLS(files))
		require.ErrorContains(t, err, "Authentication failed", "%s", user)
		require.NotContains(t, err.Error(), "wr0ng")
	}
}

func TestAURLThatCannotBeReadIsAWrongSetting(t *testing.T) {
	_, err := clickhouse.Open(t.Context(), "http://u:s3cret@127.0.0.1:1/x?secure=true")
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.NotContains(t, err.Error(), "s3cret")
}
