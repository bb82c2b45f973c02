package kafka_test

import (
	"crypto/tls"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	user     = "livegraph"
	password = "a-Secret.of.tests"
)

// guarded are brokers with every kind of listener.
type guarded struct {
	ca     *testenv.Authority
	client testenv.Certificate

	open    string // plain text, anybody
	tls     string // TLS, anybody
	mutual  string // TLS, anyone who has a certificate
	login   string // TLS, anyone who has a password
	bare    string // plain text, anyone who has a password
	expired string // TLS, with a certificate that has expired
}

// eachGuarded runs a test on brokers of both editions.
func eachGuarded(t *testing.T, test func(t *testing.T, g *guarded)) {
	t.Run(testenv.KFake, func(t *testing.T) { test(t, guardedKFake(t)) })
	t.Run(testenv.Apache, func(t *testing.T) { test(t, guardedApache(t)) })
}

func newGuarded(t *testing.T) (g *guarded, server, late testenv.Certificate) {
	ca := testenv.NewAuthority(t)
	return &guarded{ca: ca, client: ca.Sign(
		"client", time.Hour,
	)}, ca.Sign("localhost", time.Hour), ca.Sign("late", -time.Hour)
}

// guardedKFake is a cluster for each kind: kfake has one kind of listener.
func guardedKFake(t *testing.T) *guarded {
	g, server, late := newGuarded(t)
	cluster := func(opts ...kfake.Opt) string {
		c, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1))...)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c.ListenAddrs()[0]
	}
	speaking := func(pair tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{pair}} }
	mutual := speaking(server.Pair)
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, g.ca.Pool()
	logins := []kfake.Opt{
		kfake.EnableSASL(), kfake.Superuser("PLAIN", user, password),
		kfake.Superuser("SCRAM-SHA-256", user, password), kfake.Superuser("SCRAM-SHA-512", user, password),
	}
	g.open, g.tls, g.mutual = cluster(), cluster(kfake.TLS(speaking(server.Pair))), cluster(kfake.TLS(mutual))
	g.bare, g.login = cluster(logins...), cluster(append(logins, kfake.TLS(speaking(server.Pair)))...)
	g.expired = cluster(kfake.TLS(speaking(late.Pair)))
	return g
}

// guardedApache is one broker, where who logs in has no rights yet.
func guardedApache(t *testing.T) *guarded {
	g, server, late := newGuarded(t)
	stores := func(c testenv.Certificate, more map[string]string) map[string]string {
		all := map[string]string{
			"ssl.keystore.type": "PEM", "ssl.keystore.location": c.Both,
			"ssl.truststore.type": "PEM", "ssl.truststore.location": g.ca.File,
		}
		maps.Copy(all, more)
		return all
	}
	const module = "org.apache.kafka.common.security."
	logins := map[string]string{
		"sasl.enabled.mechanisms":        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		"plain.sasl.jaas.config":         module + "plain.PlainLoginModule required user_" + user + `="` + password + `";`,
		"scram-sha-256.sasl.jaas.config": module + "scram.ScramLoginModule required;",
		"scram-sha-512.sasl.jaas.config": module + "scram.ScramLoginModule required;",
	}
	k := testenv.StoppableApacheKafka(t, func(o *embedded.ApacheKafkaOptions) {
		credentials := "=[name=" + user + ",password=" + password + "]"
		o.Scram = []string{"SCRAM-SHA-256" + credentials, "SCRAM-SHA-512" + credentials}
		o.Properties = map[string]string{
			"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":           "User:ANONYMOUS;User:CN=client",
		}
		o.Listeners = []embedded.KafkaListener{
			{Name: "TLS", Protocol: "SSL", Properties: stores(server, nil)},
			{Name: "MUTUAL", Protocol: "SSL", Properties: stores(server, map[string]string{"ssl.client.auth": "required"})},
			{Name: "LOGIN", Protocol: "SASL_SSL", Properties: stores(server, logins)},
			{Name: "BARE", Protocol: "SASL_PLAINTEXT", Properties: logins},
			{Name: "EXPIRED", Protocol: "SSL", Properties: stores(late, nil)},
		}
	})
	g.open, g.tls, g.mutual, g.expired = k.Brokers()[0], k.Listener("TLS"), k.Listener("MUTUAL"), k.Listener("EXPIRED")
	g.login, g.bare = k.Listener("LOGIN"), k.Listener("BARE")
	return g
}

// over is TLS with files.
func over(t *testing.T, files tlsconfig.Files) kafka.Security {
	t.Helper()
	return as(t, files, "", "")
}

// as is TLS with files, or plain text without, and a login.
func as(t *testing.T, files tlsconfig.Files, mechanism, password string) kafka.Security {
	t.Helper()
	var client *tlsconfig.Client
	var err error
	if files != (tlsconfig.Files{}) {
		client, err = tlsconfig.NewClient(files)
		require.NoError(t, err)
	}
	s, err := kafka.Secure(client, mechanism, user, password)
	require.NoError(t, err)
	return s
}
