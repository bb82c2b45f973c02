package embedded_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// login is a SASL mechanism that sends arbitrary messages, including some that the mechanisms of
// franz-go refuse to send.
type login struct {
	name  string
	first string
	next  func(challenge string) (message string, err error) // nil: there is only the first message
}

func (l login) Name() string { return l.name }

func (l login) Authenticate(context.Context, string) (sasl.Session, []byte, error) {
	return &loginSession{login: l}, []byte(l.first), nil
}

type loginSession struct {
	login
	sent bool
}

func (s *loginSession) Challenge(challenge []byte) (done bool, message []byte, err error) {
	if s.sent || s.next == nil {
		return true, nil, nil
	}
	s.sent = true
	text, err := s.next(string(challenge))
	return false, []byte(text), err
}

// plain returns a PLAIN login.
func plain(user, password string) login {
	return login{name: "PLAIN", first: "\x00" + user + "\x00" + password}
}

// scram returns a SCRAM login (RFC 5802). The password may be empty.
func scram(user, password string) login {
	const header, nonce = "n,,", "0123456789abcdef"
	bare := "n=" + user + ",r=" + nonce
	return login{name: "SCRAM-SHA-256", first: header + bare, next: func(challenge string) (string, error) {
		fields := strings.SplitN(challenge, ",", 3)
		salt, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(fields[1], "s="))
		if err != nil {
			return "", err
		}
		rounds, err := strconv.Atoi(strings.TrimPrefix(fields[2], "i="))
		if err != nil {
			return "", err
		}
		salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
		if err != nil {
			return "", err
		}
		sign := func(key []byte, text string) []byte {
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(text))
			return mac.Sum(nil)
		}
		final := "c=biws," + fields[0]
		proof := sign(salted, "Client Key")
		stored := sha256.Sum256(proof)
		for i, b := range sign(stored[:], bare+","+challenge+","+final) {
			proof[i] ^= b
		}
		return final + ",p=" + base64.StdEncoding.EncodeToString(proof), nil
	}}
}

// canLogIn reports whether the broker accepts a client with these options.
func canLogIn(t *testing.T, broker *kafkatest.Broker, opts ...kgo.Opt) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := kgo.NewClient(
		append(opts, kgo.SeedBrokers(broker.Brokers()...), kgo.RetryTimeout(time.Second), kgo.RequestRetries(0))...,
	)
	require.NoError(t, err)
	defer client.Close()
	_, err = kadm.NewClient(client).ListTopics(ctx)
	require.NoError(t, ctx.Err(), "it is kept waiting")
	return err == nil
}

// requireLogin checks that the broker accepts only its own login.
func requireLogin(t *testing.T, broker *kafkatest.Broker) {
	t.Helper()
	user, password := broker.Login().SASLUsername, broker.Login().SASLPassword.Reveal()
	require.NotEmpty(t, password)
	require.True(t, canLogIn(t, broker, broker.Opts()...), "the right login")
	require.True(t, canLogIn(t, broker, kgo.SASL(scram(user, password))), "the right login, as this test says it")
	require.False(t, canLogIn(t, broker), "without a login")
	for what, mechanism := range map[string]sasl.Mechanism{
		"a wrong password":                   scram(user, password+"x"),
		"an empty password":                  scram(user, ""),
		"another user":                       scram("admin", "admin"),
		"the right password, but sent":       plain(user, password),
		"no password, sent":                  plain(user, ""),
		"no password of a user that is none": plain("nobody", ""),
		"no name":                            plain("", ""),
		"another hash":                       login{name: "SCRAM-SHA-512", first: scram(user, password).first},
	} {
		require.False(t, canLogIn(t, broker, kgo.SASL(mechanism)), what)
	}
}

// TestTheEmbeddedKafkaAnswersNobodyWithoutItsLogin checks that a login is required, because every
// account of the machine can reach the port, and the log has the records of all workspaces.
func TestTheEmbeddedKafkaAnswersNobodyWithoutItsLogin(t *testing.T) {
	broker := kafkatest.NewKFake(t)
	requireLogin(t, broker)
	before := broker.Login()
	broker.Stop(t)
	broker.Start(t)
	require.Equal(t, before, broker.Login())
	requireLogin(t, broker)
}

// TestWhatIsNoRequestEndsAConnectionToTheEmbeddedKafka checks that an invalid request, which every
// account of the machine can send, only closes its connection.
func TestWhatIsNoRequestEndsAConnectionToTheEmbeddedKafka(t *testing.T) {
	broker := kafkatest.NewKFake(t)
	request := func(size uint32, key int16) []byte {
		return append(
			binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(nil, size), uint16(key)), 0, 0, 0, 0, 0, 1, 0xff, 0xff,
		)
	}
	for what, sent := range map[string][]byte{
		"a kind that there is not": request(10, 999), "one below": request(10, -1), "no size": request(0, 18),
		"a size without end": request(1<<31, 18), "a large one of somebody unknown": request(1<<20, int16(kmsg.Produce)),
		"another protocol": []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	} {
		conn, err := net.Dial("tcp", broker.Brokers()[0])
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		_, err = conn.Write(sent)
		require.NoError(t, err)
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err, what)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, what)
		require.NoError(t, conn.Close())
	}
	client, err := kgo.NewClient(
		broker.Opts(
			kgo.DefaultProduceTopic("large"), kgo.ProducerBatchMaxBytes(8<<20),
			kgo.ProducerBatchCompression(kgo.NoCompression()),
		)...,
	)
	require.NoError(t, err)
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(t.Context(), 1, -1, nil, "large")
	require.NoError(t, err)
	value := bytes.Repeat([]byte("x"), 7<<20)
	require.NoError(t, client.ProduceSync(t.Context(), kgo.SliceRecord(value)).FirstErr())
	require.Equal(t, value, kafkatest.Records(t, broker, "large")[0].Value, "whoever has logged in sends what they like")
}

// endpointOf reads the file with the port and the password of a broker.
func endpointOf(t *testing.T, dir string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "endpoint.json"))
	require.NoError(t, err)
	endpoint := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &endpoint))
	return endpoint
}

func TestAPasswordThatWasChangedIsTheOneOfTheEmbeddedKafka(t *testing.T) {
	dir := t.TempDir()
	broker := kafkatest.KFakeIn(t, dir)
	before := broker.Login()
	broker.Stop(t)
	endpoint := endpointOf(t, dir)
	endpoint["password"] = "another"
	text, err := json.Marshal(endpoint)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "endpoint.json"), text, 0o600))
	// Logins that the broker has stored itself are removed with the old password.
	require.NoError(t, os.WriteFile(
		filepath.Join(dir, "log", "sasl.json"), []byte(`{"version":1,"plain":{"guest":"guest"}}`), 0o600,
	))

	broker = kafkatest.KFakeIn(t, dir)
	require.Equal(t, config.Secret("another"), broker.Login().SASLPassword)
	requireLogin(t, broker)
	require.False(t, canLogIn(t, broker, kgo.SASL(scram(before.SASLUsername, before.SASLPassword.Reveal()))))
	require.False(t, canLogIn(t, broker, kgo.SASL(plain("guest", "guest"))))
}

// TestALogFromBeforeTheLoginIsReadWithIt checks that a log of an earlier version, whose broker had
// no login and may have no password, is read with the login.
func TestALogFromBeforeTheLoginIsReadWithIt(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "endpoint.json"), []byte("{}"), 0o600))
	old, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.DataDir(filepath.Join(dir, "log")), kfake.ClusterID("livegraph"),
		kfake.SeedTopics(1, "kept"),
	)
	require.NoError(t, err)
	client, err := kgo.NewClient(kgo.SeedBrokers(old.ListenAddrs()...), kgo.DefaultProduceTopic("kept"))
	require.NoError(t, err)
	for n := range 3 {
		require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint(n))).FirstErr())
	}
	client.Close()
	old.Close()
	require.FileExists(t, filepath.Join(dir, "log", "sasl.json"), "the old broker says that nobody may log in")

	broker := kafkatest.KFakeIn(t, dir)
	requireLogin(t, broker)
	require.Equal(t, broker.Login().SASLPassword.Reveal(), endpointOf(t, dir)["password"])
	records := kafkatest.Records(t, broker, "kept")
	require.Len(t, records, 3)
	require.Equal(t, "2", string(records[2].Value))
}
