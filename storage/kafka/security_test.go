package kafka_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/kafka/secure"
	"github.com/livegraph/livegraph/test/testenv"
)

// connect opens a client at a listener and creates its topics.
func connect(t *testing.T, address string, s secure.Config, limit time.Duration) (*kafka.Client, error) {
	t.Helper()
	c, err := kafka.Open(context.Background(), kafka.Options{
		Brokers: []string{address}, BufferedBytes: 1 << 20, PointsGroup: "points", CommandsGroup: "commands", Security: s,
		Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return c, c.EnsureTopics(ctx, graphSettings(4))
}

// requireWorks produces and consumes over separate connections.
func requireWorks(t *testing.T, address string, s secure.Config) {
	t.Helper()
	c, err := connect(t, address, s, 20*time.Second)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err = c.ProducePoints(ctx, "req", []pointblock.Message{message(1, "a")})
	require.NoError(t, err)
	g, err := c.Join(kafka.GroupOptions{
		Topic: "points", Group: "points", FetchBytes: 1 << 20,
		Start:   func(context.Context, map[int32]int64) (map[int32]int64, error) { return nil, nil },
		Revoked: func([]int32, bool) {},
	})
	require.NoError(t, err)
	defer g.Leave()
	fetches, err := g.Poll(ctx, 1)
	require.NoError(t, err)
	require.Len(t, fetches.Records(), 1)
	require.NoError(t, g.Commit(ctx, map[int32]kgo.EpochOffset{1: {Epoch: -1, Offset: fetches.Records()[0].Offset + 1}}))
	g.AllowRebalance()
	_, err = c.Observe(ctx)
	require.NoError(t, err)
}

// requireRights does the operations that require rights which requireWorks does not.
func requireRights(t *testing.T, address string, s secure.Config) {
	t.Helper()
	c, err := connect(t, address, s, 20*time.Second)
	require.NoError(t, err)
	_, err = c.ProducePoints(t.Context(), "req", []pointblock.Message{message(1, "a")})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return c.LogFill() > 0
	}, time.Minute, 50*time.Millisecond, "partitions' sizes are known")
	change := kafka.Record{Workspace: uuid.New(), Value: []byte("a"), RequestID: "req"}
	require.NoError(t, c.ProduceCommand(t.Context(), change))
	require.NoError(t, c.ProduceEvents(t.Context(), []kafka.Record{change}))
	for _, topic := range []string{kafka.TopicPoints, kafka.TopicCommands} {
		deadLetter := kafka.DeadLetter{Record: &kgo.Record{Topic: topic, Value: []byte("a")}, Version: 1, Reason: "r"}
		require.NoError(t, c.ProduceDeadLetters(t.Context(), []kafka.DeadLetter{deadLetter}), topic)
	}
	g, err := c.Join(kafka.GroupOptions{
		Topic: kafka.TopicCommands, Group: "commands", FetchBytes: 1 << 20,
		Start:   func(context.Context, map[int32]int64) (map[int32]int64, error) { return nil, nil },
		Revoked: func([]int32, bool) {},
	})
	require.NoError(t, err)
	defer g.Leave()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	fetches, err := g.Poll(ctx, 1)
	require.NoError(t, err)
	require.Len(t, fetches.Records(), 1)
	g.AllowRebalance()
}

func TestClientsSpeakTLSAndLogIn(t *testing.T) {
	eachSecured(t, func(t *testing.T, g *securedBrokers) {
		ca := tlsconfig.Files{CA: g.ca.File}
		g.grant(t)
		requireWorks(t, g.tls, withTLS(t, ca))
		requireWorks(t, g.tls, withTLS(t, tlsconfig.Files{CA: g.ca.File, ServerName: "localhost"}))
		requireWorks(t, g.mutualTLS, withTLS(t, tlsconfig.Files{CA: g.ca.File, Cert: g.client.Cert, Key: g.client.Key}))
		for _, mechanism := range []string{
			secure.Plain, secure.Scram256, secure.Scram512, "SCRAM-SHA-512",
		} {
			requireWorks(t, g.saslTLS, withLogin(t, ca, mechanism, password))
		}
		requireRights(t, g.saslTLS, withLogin(t, ca, secure.Scram512, password))
		requireWorks(t, g.saslPlaintext, withLogin(t, tlsconfig.Files{}, secure.Scram512, password))
		g.requireRefusals(t)
	})
}

// requireRefusals requires that mismatched settings fail soon, with advice and without secrets in
// the error.
func (g *securedBrokers) requireRefusals(t *testing.T) {
	other := testenv.NewAuthority(t)
	foreign, expired := other.Sign("foreign", time.Hour), g.ca.Sign("late-client", -time.Hour)
	ca := tlsconfig.Files{CA: g.ca.File}
	for _, c := range []struct {
		what     string
		address  string
		security secure.Config
		advice   string // or adviceClosed, if the broker closes the connection without an error
	}{
		{"unknown authority", g.tls, withTLS(t, tlsconfig.Files{CA: other.File}), "LIVEGRAPH_KAFKA_TLS_CA"},
		{"the system's authorities", g.tls, withTLS(t, tlsconfig.Files{ServerName: "localhost"}), "LIVEGRAPH_KAFKA_TLS_CA"},
		{
			"another name", g.tls, withTLS(t, tlsconfig.Files{CA: g.ca.File, ServerName: "elsewhere.example"}),
			"LIVEGRAPH_KAFKA_TLS_SERVER_NAME",
		},
		{"expired", g.expired, withTLS(t, ca), "renew the server's certificate"},
		{"no client certificate", g.mutualTLS, withTLS(t, ca), "LIVEGRAPH_KAFKA_TLS_CERT"},
		{
			"a foreign one", g.mutualTLS, withTLS(t, tlsconfig.Files{CA: g.ca.File, Cert: foreign.Cert, Key: foreign.Key}),
			"LIVEGRAPH_KAFKA_TLS_CERT",
		},
		{
			"an expired one", g.mutualTLS, withTLS(t, tlsconfig.Files{CA: g.ca.File, Cert: expired.Cert, Key: expired.Key}),
			"LIVEGRAPH_KAFKA_TLS_CERT",
		},
		{
			"wrong password, plain", g.saslTLS, withLogin(t, ca, secure.Plain, "wr0ng-one"),
			"LIVEGRAPH_KAFKA_SASL_PASSWORD",
		},
		{
			"wrong password, scram", g.saslTLS, withLogin(t, ca, secure.Scram256, "wr0ng-one"),
			"LIVEGRAPH_KAFKA_SASL_PASSWORD",
		},
		{"no login", g.saslPlaintext, secure.Config{}, "LIVEGRAPH_KAFKA_SASL_MECHANISM"},
		{
			"a login at a listener without SASL", g.plaintext, withLogin(t, tlsconfig.Files{}, secure.Plain, password),
			"unset LIVEGRAPH_KAFKA_SASL_MECHANISM",
		},
		{"plain text to TLS", g.tls, secure.Config{}, "set LIVEGRAPH_KAFKA_TLS"},
		{"TLS to plain text", g.plaintext, withTLS(t, ca), "LIVEGRAPH_KAFKA_TLS"},
	} {
		began := time.Now()
		var err error
		explained := func() bool { // kfake closes the connection without an error
			return err != nil && (strings.Contains(err.Error(), c.advice) ||
				strings.Contains(err.Error(), "closes the connection: check"))
		}
		// Some cases always use the whole limit; on a busy machine a short one ends before the broker responds.
		for _, limit := range []time.Duration{300 * time.Millisecond, time.Second, 3 * time.Second, 20 * time.Second} {
			if _, err = connect(t, c.address, c.security, limit); explained() {
				break
			}
		}
		require.True(t, explained(), "%s: %v", c.what, err)
		require.NotContains(t, err.Error(), "wr0ng-one", c.what)
		require.NotContains(t, err.Error(), password, c.what)
		t.Logf("%s, after %s: %v", c.what, time.Since(began).Round(time.Millisecond), err)
	}
}

// grant grants the user the rights that docs/operations.md lists, after checking that connecting
// without them fails.
func (g *securedBrokers) grant(t *testing.T) {
	t.Helper()
	login := withLogin(t, tlsconfig.Files{CA: g.ca.File}, secure.Scram256, password)
	client, err := kgo.NewClient(kgo.SeedBrokers(g.plaintext))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	if meta, err := admin.BrokerMetadata(t.Context()); err == nil && strings.HasPrefix(meta.Cluster, "kfake") {
		return // kfake does not restrict its users
	}
	_, err = connect(t, g.saslTLS, login, 20*time.Second)
	require.ErrorContains(t, err, "rights that docs/operations.md lists")
	for _, rights := range []*kadm.ACLBuilder{
		kadm.NewACLs().Topics(
			"points", "points.dlq", "graph.commands", "graph.commands.dlq", "graph.events", "graph.events.dlq", "audit",
			"audit.dlq",
		).
			Operations(kadm.OpCreate, kadm.OpDelete, kadm.OpDescribe, kadm.OpDescribeConfigs, kadm.OpRead, kadm.OpWrite),
		kadm.NewACLs().Groups("points", "commands").Operations(kadm.OpRead),
		kadm.NewACLs().Clusters().Operations(kadm.OpDescribe),
	} {
		results, err := admin.CreateACLs(
			t.Context(), rights.Allow("User:"+user).AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral),
		)
		require.NoError(t, err)
		for _, r := range results {
			require.NoError(t, r.Err)
		}
	}
}
