package replica

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/test/testenv"
)

// newBalancer returns the address of a balancer that connects clients to servers in turn.
func newBalancer(t *testing.T, servers ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var connections sync.WaitGroup
	connections.Go(func() {
		for i := 0; ; i++ {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", servers[i%len(servers)])
			if err != nil {
				_ = client.Close()
				continue
			}
			for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
				connections.Go(func() {
					_, _ = io.Copy(to, from)
					_ = to.Close()
				})
			}
		}
	})
	t.Cleanup(func() { // after the pool is closed
		_ = listener.Close()
		connections.Wait()
	})
	return listener.Addr().String()
}

func TestBehindABalancerOneServerIsUsed(t *testing.T) {
	pair := testenv.NewPostgresPair(t)
	standby, err := url.Parse(pair.StandbyURL())
	require.NoError(t, err)
	primary, err := url.Parse(pair.PrimaryURL())
	require.NoError(t, err)
	balanced := *standby
	balanced.Host = newBalancer(t, standby.Host, primary.Host)
	db := openReplica(t, balanced.String())
	isReplica := func() (recovering bool) {
		row := db.Pool().QueryRow(t.Context(), `SELECT pg_is_in_recovery() FROM pg_sleep(0.02)`)
		if err := row.Scan(&recovering); err != nil {
			t.Error(err)
		}
		return recovering
	}
	require.True(t, isReplica(), "the first connection leads to the standby")
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for range 20 {
				if !isReplica() {
					t.Error("another server answers")
				}
			}
		})
	}
	clients.Wait()
}

func TestOfSeveralServersTheStandbyIsUsed(t *testing.T) {
	f := newFixture(t)
	primary, err := url.Parse(f.pair.PrimaryURL())
	require.NoError(t, err)
	both, err := url.Parse(f.pair.StandbyURL())
	require.NoError(t, err)
	both.Host = primary.Host + "," + both.Host
	query := both.Query()
	query.Set("target_session_attrs", "standby")
	both.RawQuery = query.Encode()
	db := openReplica(t, both.String())
	_, err = Check(t.Context(), f.primary.DB.DB, db, soon)
	require.NoError(t, err)
	db.ForgetServer()
	_, err = Check(t.Context(), f.primary.DB.DB, db, soon)
	require.NoError(t, err)
}

func TestAReplicaBehindAPoolerIsObserved(t *testing.T) {
	testenv.RequireFull(t)
	f := newFixture(t)
	pooled := testenv.PgBouncer(t, f.pair.StandbyURL())
	db, err := postgres.Open(t.Context(), pooled, 4, postgres.AsReplica(), postgres.WithDirectURL(f.pair.PrimaryURL()))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	_, err = Check(t.Context(), f.primary.DB.DB, db, soon)
	require.NoError(t, err)
}
