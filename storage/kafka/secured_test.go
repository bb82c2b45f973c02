package kafka_test

import (
	"crypto/tls"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/storage/kafka/secure"
	"github.com/livegraph/livegraph/test/engines/apachekafka"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	user     = "livegraph"
	password = "a-Secret.of.tests"
)

// securedBrokers has the addresses of brokers with every kind of listener.
type securedBrokers struct {
	ca     *testenv.Authority
	client testenv.Certificate

	plaintext     string // plaintext without login
	tls           string // TLS without login
	mutualTLS     string // TLS with client certificates
	saslTLS       string // TLS with SASL
	saslPlaintext string // plaintext with SASL
	expired       string // TLS with an expired server certificate
}

// eachSecured runs a test with kfake and with Apache Kafka.
func eachSecured(t *testing.T, test func(t *testing.T, g *securedBrokers)) {
	t.Run(kafkatest.KFake, func(t *testing.T) { test(t, securedKFake(t)) })
	t.Run(kafkatest.Apache, func(t *testing.T) { test(t, securedApache(t)) })
}

func newSecured(t *testing.T) (g *securedBrokers, server, expired testenv.Certificate) {
	ca := testenv.NewAuthority(t)
	return &securedBrokers{ca: ca, client: ca.Sign(
		"client", time.Hour,
	)}, ca.Sign("localhost", time.Hour), ca.Sign("late", -time.Hour)
}

// securedKFake starts a cluster for each kind of listener: a kfake cluster has only one kind.
func securedKFake(t *testing.T) *securedBrokers {
	g, server, expired := newSecured(t)
	cluster := func(opts ...kfake.Opt) string {
		c, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1))...)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c.ListenAddrs()[0]
	}
	serverTLS := func(pair tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{pair}} }
	mutual := serverTLS(server.Pair)
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, g.ca.Pool()
	logins := []kfake.Opt{
		kfake.EnableSASL(), kfake.Superuser("PLAIN", user, password),
		kfake.Superuser("SCRAM-SHA-256", user, password), kfake.Superuser("SCRAM-SHA-512", user, password),
	}
	g.plaintext, g.tls, g.mutualTLS = cluster(), cluster(kfake.TLS(serverTLS(server.Pair))), cluster(kfake.TLS(mutual))
	g.saslPlaintext, g.saslTLS = cluster(logins...), cluster(append(logins, kfake.TLS(serverTLS(server.Pair)))...)
	g.expired = cluster(kfake.TLS(serverTLS(expired.Pair)))
	return g
}

// securedApache starts one broker, on which the SASL user has no ACLs yet.
func securedApache(t *testing.T) *securedBrokers {
	g, server, expired := newSecured(t)
	keyStores := func(c testenv.Certificate, extra map[string]string) map[string]string {
		all := map[string]string{
			"ssl.keystore.type": "PEM", "ssl.keystore.location": c.Combined,
			"ssl.truststore.type": "PEM", "ssl.truststore.location": g.ca.File,
		}
		maps.Copy(all, extra)
		return all
	}
	const module = "org.apache.kafka.common.security."
	logins := map[string]string{
		"sasl.enabled.mechanisms":        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		"plain.sasl.jaas.config":         module + "plain.PlainLoginModule required user_" + user + `="` + password + `";`,
		"scram-sha-256.sasl.jaas.config": module + "scram.ScramLoginModule required;",
		"scram-sha-512.sasl.jaas.config": module + "scram.ScramLoginModule required;",
	}
	k := kafkatest.StoppableApacheKafka(t, func(o *apachekafka.Options) {
		credentials := "=[name=" + user + ",password=" + password + "]"
		o.Scram = []string{"SCRAM-SHA-256" + credentials, "SCRAM-SHA-512" + credentials}
		o.Properties = map[string]string{
			"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":           "User:ANONYMOUS;User:CN=client",
		}
		o.Listeners = []apachekafka.Listener{
			{Name: "TLS", Protocol: "SSL", Properties: keyStores(server, nil)},
			{Name: "MUTUAL", Protocol: "SSL", Properties: keyStores(server, map[string]string{"ssl.client.auth": "required"})},
			{Name: "LOGIN", Protocol: "SASL_SSL", Properties: keyStores(server, logins)},
			{Name: "BARE", Protocol: "SASL_PLAINTEXT", Properties: logins},
			{Name: "EXPIRED", Protocol: "SSL", Properties: keyStores(expired, nil)},
		}
	})
	g.plaintext, g.tls, g.mutualTLS = k.Brokers()[0], k.Listener("TLS"), k.Listener("MUTUAL")
	g.expired, g.saslTLS, g.saslPlaintext = k.Listener("EXPIRED"), k.Listener("LOGIN"), k.Listener("BARE")
	return g
}

// withTLS returns the security settings for TLS with files.
func withTLS(t *testing.T, files tlsconfig.Files) secure.Config {
	t.Helper()
	return withLogin(t, files, "", "")
}

// withLogin returns the security settings for SASL over TLS with files, or over plaintext if files is
// empty. An empty mechanism means no login.
func withLogin(t *testing.T, files tlsconfig.Files, mechanism, password string) secure.Config {
	t.Helper()
	var client *tlsconfig.Client
	var err error
	if files != (tlsconfig.Files{}) {
		client, err = tlsconfig.NewClient(files)
		require.NoError(t, err)
	}
	s, err := secure.New(client, mechanism, user, password)
	require.NoError(t, err)
	return s
}
