package redis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/chaos/proxy"
	"github.com/livegraph/livegraph/test/testenv"
)

// A script whose connection breaks before its answer may have been executed: it is not repeated.
func TestACallThatBreaksIsNotRepeated(t *testing.T) {
	var mu sync.Mutex
	var proxies []*proxy.Proxy
	cluster := testenv.AnnouncedRedisCluster(t, func(address string) string {
		p, err := proxy.Listen("127.0.0.1:0", address, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = p.Close() })
		mu.Lock()
		defer mu.Unlock()
		proxies = append(proxies, p)
		return p.Address()
	})
	db := openRedis(t, cluster.URL())
	one := redis.RequestQuery{Workspace: uuid.New(), Requests: 1, Limits: [2]int64{50, 50}, Lengths: minuteAndDay}
	countOne(t, db, one.Workspace)
	for calls, call := range []func() error{
		func() error { _, err := db.CountRequest(t.Context(), &one); return err },
		func() error { _, err := db.CountRequests(t.Context(), []redis.RequestQuery{one, one}); return err },
	} {
		for _, p := range proxies {
			p.Apply(proxy.Rule{Cut: proxy.Cut{Chance: 1, Direction: proxy.Answer, Contains: []byte("*6\r\n"), After: -1}})
		}
		require.Error(t, call())
		for _, p := range proxies {
			p.ClearRules()
		}
		read := one
		read.Requests = 0
		result, err := db.CountRequest(t.Context(), &read)
		require.NoError(t, err)
		require.EqualValues(t, []int64{2, 4}[calls], result.Counts[1])
	}
}

func TestAURLThatNamesAnotherModeIsRefused(t *testing.T) {
	single, sentinels, cluster := testenv.Redis(t), testenv.RedisSentinels(t), testenv.RedisCluster(t)
	secret := password(t, single)
	for name, test := range map[string]struct {
		options redis.Options
		want    string
	}{
		"one server of a Cluster": {
			redis.Options{URL: cluster.Primaries[1].URL()}, "is part of a Cluster: the URL must begin with redis-cluster://",
		},
		"a Sentinel as a server": {
			redis.Options{URL: sentinels.Sentinels[0].URL()}, "is a Sentinel: the URL must begin with redis-sentinel://",
		},
		"a server as a Cluster": {
			redis.Options{URL: "redis-cluster://:" + secret + "@" + testenv.Host(t, single)},
			"is not part of a Cluster: the URL must begin with redis://, or with rediss:// for TLS",
		},
		"a server as a Sentinel": {
			redis.Options{
				URL: "redis-sentinel://" + testenv.Host(t, single) + "?master=main", SentinelPassword: secret,
			},
			"is not a Sentinel: the URL must begin with redis://",
		},
		"a Sentinel as a Cluster": {
			redis.Options{
				URL: "redis-cluster://:" + sentinels.SentinelPassword + "@" + sentinels.Sentinels[0].Address,
			},
			"is a Sentinel: the URL must begin with redis-sentinel://",
		},
		"a primary that the Sentinels do not monitor": {
			redis.Options{URL: sentinels.URL() + "2", SentinelPassword: sentinels.SentinelPassword},
			"monitor no primary with the name in ?master=NAME",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := redis.Open(t.Context(), test.options)
			require.ErrorContains(t, err, test.want)
			require.True(t, fault.Is(err, fault.Invalid), "a retry does not help")
			require.NotContains(t, err.Error(), secret)
		})
	}
}

func TestLoginsToSentinelsAndServersAreSeparate(t *testing.T) {
	sentinels := testenv.RedisSentinels(t)
	_, err := redis.Open(t.Context(), redis.Options{URL: sentinels.URL(), SentinelPassword: "wr0ng"})
	require.ErrorContains(t, err, "WRONGPASS")
	require.NotContains(t, err.Error(), "wr0ng")
	_, err = redis.Open(t.Context(), redis.Options{URL: sentinels.URL()})
	require.ErrorContains(t, err, "NOAUTH")
	require.False(t, fault.Is(err, fault.Invalid))
	sentinelServers := "redis-sentinel://:wr0ng@" + sentinels.Sentinels[0].Address + "?master=" + sentinels.Name
	_, err = redis.Open(t.Context(), redis.Options{URL: sentinelServers, SentinelPassword: sentinels.SentinelPassword})
	require.ErrorContains(t, err, "WRONGPASS")
	require.NotContains(t, err.Error(), "wr0ng")
}

// A user of a Cluster needs the rights for the commands that are used, and none for COMMAND.
func TestAUserOfAClusterNeedsFewRights(t *testing.T) {
	cluster := testenv.RedisCluster(t)
	for _, s := range cluster.Primaries {
		require.NoError(t, s.Do(
			t.Context(), "ACL", "SETUSER", "little", "on", ">s3cret", "~livegraph:*", "&livegraph:*", "-@all", "+ping", "+info",
			"+cluster|slots", "+eval", "+evalsha", "+hget", "+hlen", "+hset", "+hdel", "+del", "+hmget", "+pexpire", "+time",
			"+spublish", "+ssubscribe", "+scan", "+unlink",
		))
	}
	t.Cleanup(func() {
		for _, s := range cluster.Primaries {
			_ = s.Do(t.Context(), "ACL", "DELUSER", "little")
		}
	})
	db := openRedis(t, "redis-cluster://little:s3cret@"+cluster.Primaries[0].Address)
	require.NoError(t, db.Ping(t.Context()))
	_, err := db.Primaries(t.Context())
	require.NoError(t, err)
	workspace := uuid.New()
	countOne(t, db, workspace)
	saveStacks(t, db, workspace)
	replies := newReplies(t, db)
	require.NoError(t, db.SendReplies(t.Context(), []redis.Reply{{To: replies.Address(), ID: workspace}}))
	require.NoError(t, db.EraseWorkspace(t.Context(), workspace, func(int64) error { return nil }))
}

// All servers of a Cluster are verified, not only those of the URL.
func TestAllServersOfAClusterAreVerified(t *testing.T) {
	authority := testenv.NewAuthority(t)
	var mu sync.Mutex
	fronts := map[string]*testenv.TLSProxy{}
	cluster := testenv.AnnouncedRedisCluster(t, func(address string) string {
		mu.Lock()
		defer mu.Unlock()
		fronts[address] = testenv.NewTLSProxy(t, address, authority.ServerConfig("elsewhere"))
		return fronts[address].Address
	})
	first := cluster.Primaries[0]
	u := "rediss-cluster://:" + password(t, first.URL()) + "@" + fronts[first.Address].Address
	open := func(f tlsconfig.Files) (*redis.DB, error) {
		files, err := tlsconfig.NewClient(f)
		require.NoError(t, err)
		return redis.Open(t.Context(), redis.Options{URL: u, TLS: files})
	}
	db, err := open(tlsconfig.Files{CA: authority.File, ServerName: "elsewhere"})
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	require.NoError(t, db.Ping(t.Context()))
	for _, front := range fronts {
		require.Positive(t, front.Handshakes.Load())
	}
	_, err = open(tlsconfig.Files{CA: authority.File})
	require.ErrorContains(t, err, "certificate is valid for elsewhere")
	_, err = open(tlsconfig.Files{CA: testenv.NewAuthority(t).File, ServerName: "elsewhere"})
	require.ErrorContains(t, err, "unknown authority")
}

// TLS is used for the connections to the Sentinels, and to the servers that they name.
func TestSentinelsAndServersAreVerified(t *testing.T) {
	sentinels := testenv.RedisSentinels(t)
	authority := testenv.NewAuthority(t)
	front := testenv.NewTLSProxy(t, sentinels.Sentinels[0].Address, authority.ServerConfig("localhost"))
	open := func(ca string) error {
		files, err := tlsconfig.NewClient(tlsconfig.Files{CA: ca})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = redis.Open(ctx, redis.Options{
			URL: "rediss-sentinel://" + front.Address + "?master=" + sentinels.Name, TLS: files,
			SentinelPassword: sentinels.SentinelPassword,
		})
		return err
	}
	require.ErrorContains(t, open(testenv.NewAuthority(t).File), "unknown authority")
	require.Zero(t, front.Handshakes.Load())
	// The server does not answer the handshake. A connection without TLS would get NOAUTH.
	require.ErrorIs(t, open(authority.File), context.DeadlineExceeded)
	require.Positive(t, front.Handshakes.Load())
}

// A server of a Cluster that is unavailable does not hide its keys from a deletion.
func TestADeletionFailsWhileAServerIsUnavailable(t *testing.T) {
	cluster := testenv.StoppableRedisCluster(t, 0)
	db := openRedis(t, cluster.URL())
	workspace := uuid.New()
	for db.Server(t.Context(), workspace) != cluster.Primaries[2].Address {
		workspace = uuid.New()
	}
	countOne(t, db, workspace)
	require.NoError(t, cluster.Primaries[2].Kill())
	_, err := db.WorkspaceRows(t.Context(), workspace)
	require.Error(t, err)
	require.Error(t, db.Ping(t.Context()))
	openRedis(t, cluster.URL()) // the others are used
	require.NoError(t, cluster.Primaries[2].Start(t.Context()))
	require.Eventually(t, func() bool {
		rows, err := db.WorkspaceRows(t.Context(), workspace)
		return err == nil && rows == 1
	}, time.Minute, 20*time.Millisecond)
}
