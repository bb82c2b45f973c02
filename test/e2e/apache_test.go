package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/testenv"
)

// kafkaPassword is the password at the test's broker.
const kafkaPassword = "s3cret-of-the-log"

// secureKafka starts an Apache Kafka that wants TLS and a login, and gives the
// settings by which a server gets there.
func secureKafka(t *testing.T) map[string]string {
	t.Helper()
	ca := testenv.NewAuthority(t)
	certificate := ca.Sign("localhost", time.Hour)
	broker := testenv.StoppableApacheKafka(t, func(o *embedded.ApacheKafkaOptions) {
		o.Scram = []string{"SCRAM-SHA-512=[name=livegraph,password=" + kafkaPassword + "]"}
		o.Listeners = []embedded.KafkaListener{{Name: "LOGIN", Protocol: "SASL_SSL", Properties: map[string]string{
			"ssl.keystore.type": "PEM", "ssl.keystore.location": certificate.Both, "sasl.enabled.mechanisms": "SCRAM-SHA-512",
			"scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		}}}
	})
	return map[string]string{
		"LIVEGRAPH_KAFKA_BROKERS": broker.Listener("LOGIN"), "LIVEGRAPH_KAFKA_TLS": "true", "LIVEGRAPH_KAFKA_TLS_CA": ca.File,
		"LIVEGRAPH_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512", "LIVEGRAPH_KAFKA_SASL_USERNAME": "livegraph",
		"LIVEGRAPH_KAFKA_SASL_PASSWORD": kafkaPassword,
	}
}

// environment returns settings as a process takes them, some of them changed.
func environment(settings, changed map[string]string) (env []string) {
	for name, value := range settings {
		if other, is := changed[name]; is {
			value = other
		}
		env = append(env, name+"="+value)
	}
	return env
}

// TestNothingIsLostOrCountedTwiceOnApacheKafka is the promise on the log that
// production has, over TLS and with a login.
func TestNothingIsLostOrCountedTwiceOnApacheKafka(t *testing.T) {
	t.Parallel()
	const batches, kills = 30, 1
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	settings := secureKafka(t)
	s := newServer(t)
	s.Env = environment(settings, nil)
	s.Start()
	source := s.createSource("turbine")
	s.sendThroughKills(source, batches, kills, rand.New(rand.NewPCG(seed, 2)))

	var accepted struct{ Checkpoint string }
	s.Do("POST", "/api/live-data/ingest", json.RawMessage(batch{batches}.body(source)), http.StatusCreated, &accepted)
	var want float64
	for n := range batches + 1 {
		want += batch{n}.sum()
	}
	s.awaitCheckpoint(source, accepted.Checkpoint)
	count, sum := s.totals(source, nil)
	require.InDelta(t, (batches+1)*pointsInBatch, count, 0, "the checkpoint's points are visible, and no point twice")
	require.InDelta(t, want, sum, 0)

	s.Env = nil // the doctor finds the server's way to Kafka by itself
	require.Equal(t, doctor.OK, s.finding("kafka").Status)
	require.Regexp(t, `v4\.[0-9]`, s.finding("kafka").Version)
	require.Contains(t, s.finding("retention").Detail, "the consumer is 0 records behind")
	require.Zero(t, s.Stop())
	s.requireRefusedByKafka(settings)
}

// requireRefusedByKafka checks that settings which do not fit end a start with what
// to do, and that the doctor says the same; neither shows a password.
func (s *server) requireRefusedByKafka(settings map[string]string) {
	s.t.Helper()
	missing := filepath.Join(s.t.TempDir(), "missing.pem")
	for _, c := range []struct{ setting, value, says string }{
		{
			"LIVEGRAPH_KAFKA_SASL_PASSWORD", "wr0ng-one",
			"check LIVEGRAPH_KAFKA_SASL_USERNAME and LIVEGRAPH_KAFKA_SASL_PASSWORD",
		},
		{"LIVEGRAPH_KAFKA_TLS_CA", missing, "--kafka-tls-ca: stat " + missing + ": no such file"},
	} {
		s.Env = environment(settings, map[string]string{c.setting: c.value})
		output, code := s.RunServe()
		require.Equal(s.t, 1, code, output)
		require.Contains(s.t, output, c.says)
		found := s.finding("kafka")
		require.Equal(s.t, doctor.Failed, found.Status)
		require.Contains(s.t, found.Detail+" "+found.Advice, c.says)
		for _, secret := range []string{"wr0ng-one", kafkaPassword} {
			require.NotContains(s.t, output+found.Detail+found.Advice, secret)
		}
	}
}

// finding returns what the doctor finds out about one thing.
func (s *server) finding(name string) doctor.Result {
	s.t.Helper()
	output, _ := s.RunCLI("doctor", "--json")
	var results []doctor.Result
	require.NoError(s.t, json.NewDecoder(strings.NewReader(output)).Decode(&results), output)
	for _, r := range results {
		if r.Name == name {
			return r
		}
	}
	require.Fail(s.t, "nothing was found out about "+name, output)
	return doctor.Result{}
}
