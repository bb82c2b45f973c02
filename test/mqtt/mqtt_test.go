package mqtt

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/testenv"
)

var binary string

func TestMain(m *testing.M) { harness.Main(m, &binary) }

// start is the time of the first point that the tests send.
var start = time.Now().Add(-time.Hour).Truncate(time.Second)

// value returns the latest value of a metric as JSON, "" if there is none.
func value(s *harness.Server, source, metric string) string {
	var result []struct{ Points [][]json.RawMessage }
	a, err := s.Try(http.MethodGet, "/api/live-data/query?"+url.Values{
		"source": {source}, "metric": {metric}, "latest": {"true"}, "from": {"-2h"},
	}.Encode(), nil)
	if err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Data, &result) != nil || len(result) == 0 ||
		len(result[0].Points) == 0 {
		return ""
	}
	return string(result[0].Points[0][1])
}

func requireValue(t *testing.T, s *harness.Server, source, metric, want string) {
	t.Helper()
	require.Eventually(t, func() bool { return value(s, source, metric) == want }, time.Minute, 100*time.Millisecond,
		"%s %s is %s instead of %s", source, metric, value(s, source, metric), want)
}

const mappings = `
    mappings:
      - {topic: 'plants/{plant}/{machine}/{metric...}', payload: number, source: '{plant}/{machine}',
         metric: '{metric}', tags: {plant: '{plant}'}}
      - {topic: 'modes/{machine}', payload: text, source: '{machine}', metric: mode, retained: true}
      - {topic: 'rooms/{room}', payload: json, source: 'room {room}', time: {field: at}}
      - {payload: sparkplug, group: g}
`

func TestMessagesOfBothVersionsOfTheProtocol(t *testing.T) {
	s := harness.New(t, binary)
	s.Start()
	ca := testenv.NewAuthority(t)
	certificate := ca.Sign("127.0.0.1", time.Hour)
	for version, c := range map[string]struct {
		broker *broker
		login  string
	}{
		"5": {startBroker(t, "mqtt", "allow_anonymous true"), ""},
		"3.1.1": {
			startBroker(t, "mqtts", fmt.Sprintf("allow_anonymous false\npassword_file %s\ncertfile %s\nkeyfile %s",
				passwords(t), certificate.Cert, certificate.Key)),
			fmt.Sprintf("username: u\n    passwordFile: %s\n    tls: {caFile: %s}", secret(t), ca.File),
		},
	} {
		t.Run(version, func(t *testing.T) {
			v := strings.ReplaceAll(version, ".", "-")
			b := startBridge(t, s, fmt.Sprintf("brokers:\n  - url: %s://%s\n    version: %s\n    clientId: bridge\n    %s%s",
				c.broker.scheme, c.broker.address, version, c.login, mappings))
			publisher := c.broker.client("publisher", func(o *paho.ClientOptions) {
				if c.login != "" {
					o.SetUsername("u").SetPassword("secret").SetTLSConfig(&tls.Config{RootCAs: ca.Pool()})
				}
			})
			finish(t, publisher.Publish("modes/press "+v, 1, true, "kept"))
			finish(t, publisher.Publish("plants/p/kept "+v+"/speed", 1, true, "1"))
			b.waitSubscribed(1)
			requireValue(t, s, "press "+v, "mode", `"kept"`)

			finish(t, publisher.Publish("plants/p/press "+v+"/oil/temp", 1, false, "21.5"))
			finish(t, publisher.Publish("plants/p/press "+v+"/oil/temp", 1, false, "warm"))
			finish(t, publisher.Publish("modes/press "+v, 0, false, `a "new" mode`))
			finish(t, publisher.Publish("rooms/"+v, 2, false,
				fmt.Sprintf(`{"at":%d,"t":-3,"door":{"open":true}}`, start.UnixMilli())))
			requireValue(t, s, "p/press "+v, "oil/temp", "21.5")
			requireValue(t, s, "press "+v, "mode", `"a \"new\" mode"`)
			requireValue(t, s, "room "+v, "door.open", "1")
			require.Contains(t, b.output(), "the payload is not a number")
			require.Empty(t, value(s, "p/kept "+v, "speed"), "a message that the broker kept is not taken without retained")

			births := make(chan string, 10)
			finish(t, publisher.Subscribe("spBv1.0/g/NCMD/#", 0, func(_ paho.Client, m paho.Message) { births <- m.Topic() }))
			finish(t, publisher.Publish("spBv1.0/g/NDATA/"+v, 0, false, "\x12\x0b\x10\x07\x69\x00\x00\x00\x00\x00\x00\xf0\x3f"))
			select {
			case topic := <-births:
				require.Equal(t, "spBv1.0/g/NCMD/"+v, topic)
			case <-time.After(20 * time.Second):
				require.Fail(t, "the node was not asked for a birth")
			}
			finish(t, publisher.Publish("spBv1.0/g/NBIRTH/"+v, 1, false,
				"\x12\x10\x0a\x01w\x10\x07\x20\x0a\x69\x00\x00\x00\x00\x00\x00\xf0\x3f"))
			requireValue(t, s, "g/"+v, "w", "1")
			finish(t, publisher.Publish("spBv1.0/g/NDATA/"+v, 0, false, "\x12\x0b\x10\x07\x69\x00\x00\x00\x00\x00\x00\x00\x40"))
			requireValue(t, s, "g/"+v, "w", "2")
			require.Zero(t, b.stop())
		})
	}
}

// passwords returns a password file of Mosquitto with the user u and the password "secret".
func passwords(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "passwords")
	run(t, "mosquitto_passwd", "-b", "-c", path, "u", "secret")
	return path
}

// TestKilledProcessesLoseAndDoubleNothing publishes by many clients while the bridge and the broker are killed, and the
// server is stopped.
func TestKilledProcessesLoseAndDoubleNothing(t *testing.T) {
	testenv.RequireFull(t)
	const publishers, each = 1000, 40
	s := harness.New(t, binary)
	s.Start()
	for _, version := range []string{"5", "3.1.1"} {
		t.Run(version, func(t *testing.T) {
			source := "load " + version
			broker := startBroker(t, "mqtt", "allow_anonymous true\nmax_inflight_messages 0")
			b := startBridge(t, s, fmt.Sprintf(`brokers:
  - url: mqtt://%s
    version: %s
    clientId: bridge
    mappings:
      - {topic: 'load/{client}', payload: json, source: '%s', time: {field: at}, tags: {client: '{client}'}}
`, broker.address, version, source))
			b.waitSubscribed(1)
			var group sync.WaitGroup
			clients := make([]paho.Client, publishers)
			for i := range clients {
				clients[i] = broker.client(fmt.Sprint("client", i), nil)
			}
			for i, c := range clients {
				group.Go(func() {
					for n := range each {
						token := c.Publish(fmt.Sprint("load/", i), 1, false,
							fmt.Sprintf(`{"at":%d,"v":%d}`, start.Add(time.Duration(n)*time.Second).UnixMilli(), i*each+n))
						for !token.WaitTimeout(time.Minute) {
							t.Error("a message was not taken by the broker")
							return
						}
						time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
					}
				})
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range 3 {
				time.Sleep(time.Duration(200+random.IntN(600)) * time.Millisecond)
				b.kill()
				time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
				b.start()
			}
			s.Stop()
			time.Sleep(500 * time.Millisecond)
			broker.stop()
			broker.start()
			s.Start()
			group.Wait()
			total := publishers * each
			wantSum := float64(total*(total-1)) / 2
			require.Eventually(t, func() bool {
				count, sum := totals(s, source)
				return count == total && sum == wantSum
			}, time.Minute, 200*time.Millisecond, "not all points are there")
			count, sum := totals(s, source)
			require.Equal(t, total, count)
			require.Equal(t, wantSum, sum)
			require.Zero(t, b.stop())
		})
	}
}

// totals returns the number and the sum of the points of a source.
func totals(s *harness.Server, source string) (count int, sum float64) {
	var result []struct{ Points [][]float64 }
	a, err := s.Try(http.MethodGet, "/api/live-data/query?"+url.Values{
		"source": {source}, "metric": {"v"}, "aggregation": {"count,sum"}, "from": {"-3h"}, "groupBy": {"none"},
		"epoch": {"ms"},
	}.Encode(), nil)
	if err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Data, &result) != nil || len(result) == 0 {
		return 0, 0
	}
	for _, row := range slices.Concat(result[0].Points) {
		count, sum = count+int(row[1]), sum+row[2]
	}
	return count, sum
}

func TestABadFileNamesTheField(t *testing.T) {
	s := harness.New(t, binary)
	path := filepath.Join(t.TempDir(), "mqtt.yaml")
	for text, want := range map[string]string{
		"":                               "brokers: must have 1 to 100 entries",
		"broker: []":                     "broker",
		"brokers: [{url: 'tcp://h'}]":    "brokers[0].url: must be mqtt://",
		"brokers: [{url: 'mqtt://u@h'}]": "without a user",
		"brokers: [{url: 'mqtt://h'}]":   "brokers[0].clientId: is required",
		"brokers: [{url: 'mqtt://h', clientId: c, version: 4}]":                 "brokers[0].version: must be 5 or 3.1.1",
		"brokers: [{url: 'mqtt://h', clientId: c, sessionExpiry: 1ms}]":         "brokers[0].sessionExpiry: must be",
		"brokers: [{url: 'mqtt://h', clientId: c, tls: {caFile: x}}]":           "brokers[0].tls: requires a url with mqtts",
		"brokers: [{url: 'mqtt://h', clientId: c}]":                             "brokers[0].mappings: must have 1 to",
		"brokers: [{url: 'mqtt://h', clientId: c, mappings: [{topic: 'a/#'}]}]": "brokers[0].mappings[0].",
	} {
		writeFile(t, path, text)
		output, code := s.RunCLI("mqtt", path, "--check", "--key", "k", "--workspace", "0198c0de-0000-7000-8000-000000000001")
		require.NotZero(t, code, text)
		require.Contains(t, output, want, text)
	}
}
