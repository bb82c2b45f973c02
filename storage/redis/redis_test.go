package redis_test

import (
	"net"
	"net/url"
	"testing"

	driver "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestEachPrimaryReturnsItsVersion(t *testing.T) {
	onEachEdition(t, func(t *testing.T, e edition) {
		db := e.open(t)
		require.NoError(t, db.Ping(t.Context()))
		primaries, err := db.Primaries(t.Context())
		require.NoError(t, err)
		want := 1
		if _, cluster := e.raw.(*driver.ClusterClient); cluster {
			want = 3
		}
		require.Len(t, primaries, want)
		addresses := map[string]bool{}
		for _, p := range primaries {
			require.Regexp(t, `^Valkey 9\.`, p.Version())
			addresses[p.Address] = true
		}
		require.Len(t, addresses, want)
		require.Equal(t, want == 1, addresses[""])
	})
}

func TestConnectionsByTLSAreVerified(t *testing.T) {
	engine := testenv.Redis(t)
	testenv.RequireTLS(t, testenv.TLSTarget{
		Engine: testenv.Host(t, engine), Secrets: []string{password(t, engine)},
		Open: func(t *testing.T, front *testenv.TLSProxy, f tlsconfig.Files) (func() error, error) {
			files, err := tlsconfig.NewClient(f)
			require.NoError(t, err)
			db, err := redis.Open(t.Context(), redis.Options{URL: front.URL(engine, "rediss", ""), TLS: files})
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = db.Close() })
			return func() error { return db.Ping(t.Context()) }, nil
		},
	})
}

// A Redis ACL user needs only the rights for the commands that are used.
func TestAUserWithFewRightsIsEnough(t *testing.T) {
	engine := testenv.Redis(t)
	options, err := driver.ParseURL(engine)
	require.NoError(t, err)
	admin := driver.NewClient(options)
	defer func() { _ = admin.Close() }()
	require.NoError(
		t, admin.Do(t.Context(), "ACL", "SETUSER", "little", "on", ">s3cret", "-@all", "+ping", "+info", "+select").Err(),
	)
	t.Cleanup(func() { _ = admin.Do(t.Context(), "ACL", "DELUSER", "little").Err() })

	u, err := url.Parse(engine)
	require.NoError(t, err)
	u.User = url.UserPassword("little", "s3cret")
	db, err := redis.Open(t.Context(), redis.Options{URL: u.String()})
	require.NoError(t, err)
	_, err = db.Primaries(t.Context())
	require.NoError(t, err)
	require.NoError(t, db.Close())

	u.User = url.UserPassword("little", "wr0ng")
	_, err = redis.Open(t.Context(), redis.Options{URL: u.String()})
	require.ErrorContains(t, err, "WRONGPASS")
	require.NotContains(t, err.Error(), "wr0ng")
}

func TestAnInvalidURLIsNotShown(t *testing.T) {
	for _, address := range []string{"redis://u:s3cret@%zz", "redis://u:s3cret@h:6379/no-number", "http://u:s3cret@h"} {
		_, err := redis.Open(t.Context(), redis.Options{URL: address})
		require.True(t, fault.Is(err, fault.Invalid), "%v", err)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestAnUnavailableServerIsReported(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, err = redis.Open(t.Context(), redis.Options{URL: "redis://:s3cret@" + address})
	require.ErrorContains(t, err, "refused")
	require.NotContains(t, err.Error(), "s3cret")
}

func password(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	secret, _ := u.User.Password()
	require.NotEmpty(t, secret)
	return secret
}
