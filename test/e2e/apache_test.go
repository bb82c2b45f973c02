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

	"github.com/livegraph/livegraph/internal/services/doctor"
	"github.com/livegraph/livegraph/test/engines/apachekafka"
	"github.com/livegraph/livegraph/test/kafkatest"
	"github.com/livegraph/livegraph/test/testenv"
)

// kafkaPassword is the password for the test's broker.
const kafkaPassword = "s3cret-of-the-log"

// secureKafka starts an Apache Kafka that requires TLS and SASL, and returns the settings that a
// server needs to connect.
func secureKafka(t *testing.T) map[string]string {
	t.Helper()
	ca := testenv.NewAuthority(t)
	certificate := ca.Sign("localhost", time.Hour)
	broker := kafkatest.StoppableApacheKafka(t, func(o *apachekafka.Options) {
		o.Scram = []string{"SCRAM-SHA-512=[name=livegraph,password=" + kafkaPassword + "]"}
		o.Listeners = []apachekafka.Listener{{Name: "LOGIN", Protocol: "SASL_SSL", Properties: map[string]string{
			"ssl.keystore.type": "PEM", "ssl.keystore.location": certificate.Combined,
			"sasl.enabled.mechanisms":        "SCRAM-SHA-512",
			"scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		}}}
	})
	return map[string]string{
		"LIVEGRAPH_KAFKA_BROKERS": broker.Listener("LOGIN"), "LIVEGRAPH_KAFKA_TLS": "true", "LIVEGRAPH_KAFKA_TLS_CA": ca.File,
		"LIVEGRAPH_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512", "LIVEGRAPH_KAFKA_SASL_USERNAME": "livegraph",
		"LIVEGRAPH_KAFKA_SASL_PASSWORD": kafkaPassword,
	}
}

// settingsEnv returns settings as environment variables, with the values in changed replaced.
func settingsEnv(settings, changed map[string]string) (env []string) {
	for name, value := range settings {
		if changedValue, is := changed[name]; is {
			value = changedValue
		}
		env = append(env, name+"="+value)
	}
	return env
}

// TestNothingIsLostOrCountedTwiceOnApacheKafka verifies the guarantee on Apache Kafka, over TLS and
// with SASL.
func TestNothingIsLostOrCountedTwiceOnApacheKafka(t *testing.T) {
	t.Parallel()
	const batches, kills = 30, 1
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	settings := secureKafka(t)
	s := newServer(t)
	s.Env = settingsEnv(settings, nil)
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

	s.Env = nil // the doctor reads the server's Kafka settings from the run file
	require.Equal(t, doctor.OK, s.finding("kafka").Status)
	require.Regexp(t, `v4\.[0-9]`, s.finding("kafka").Version)
	require.Contains(t, s.finding("retention").Detail, "the consumer is 0 records behind")
	require.Zero(t, s.Stop())
	s.requireRefusedByKafka(settings)
}

// requireRefusedByKafka requires that a server does not start with invalid settings and prints what to
// do, that the doctor reports the same, and that neither prints a password.
func (s *server) requireRefusedByKafka(settings map[string]string) {
	s.t.Helper()
	missing := filepath.Join(s.t.TempDir(), "missing.pem")
	for _, c := range []struct{ setting, value, message string }{
		{
			"LIVEGRAPH_KAFKA_SASL_PASSWORD", "wr0ng-one",
			"check LIVEGRAPH_KAFKA_SASL_USERNAME and LIVEGRAPH_KAFKA_SASL_PASSWORD",
		},
		{"LIVEGRAPH_KAFKA_TLS_CA", missing, "--kafka-tls-ca: stat " + missing + ": no such file"},
	} {
		s.Env = settingsEnv(settings, map[string]string{c.setting: c.value})
		output, code := s.RunServe()
		require.Equal(s.t, 1, code, output)
		require.Contains(s.t, output, c.message)
		found := s.finding("kafka")
		require.Equal(s.t, doctor.Failed, found.Status)
		require.Contains(s.t, found.Detail+" "+found.Advice, c.message)
		for _, secret := range []string{"wr0ng-one", kafkaPassword} {
			require.NotContains(s.t, output+found.Detail+found.Advice, secret)
		}
	}
}

// finding returns the doctor's result for one check.
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
