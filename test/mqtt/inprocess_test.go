package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/mqtt"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/test/testenv"
)

// protocols are the versions of MQTT.
var protocols = []string{"5", "3.1.1"}

// receiver is a bridge in the process of the test, and the API that it sends to.
type receiver struct {
	t       *testing.T
	log     *testenv.Output
	metrics *prometheus.Registry
	cancel  context.CancelFunc
	ended   chan error
	mu      sync.Mutex
	lines   []string // that were accepted
}

// answer answers a request with lines.
type answer func(ctx context.Context, lines string) (client.Receipt, error)

// accept accepts all points.
func accept(_ context.Context, lines string) (client.Receipt, error) {
	return client.Receipt{Accepted: strings.Count(lines, "\n")}, nil
}

// runBridge runs a bridge with a configuration until stop is called. The lines that answer accepts are kept.
func runBridge(t *testing.T, config string, flush time.Duration, answer answer) *receiver {
	t.Helper()
	c, err := mqtt.Parse(strings.NewReader(config))
	require.NoError(t, err, config)
	r := &receiver{t: t, log: &testenv.Output{}, metrics: prometheus.NewRegistry(), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r.cancel = cancel
	go func() {
		r.ended <- mqtt.Run(ctx, c, mqtt.Deps{
			Flush: flush, Logger: slog.New(slog.NewTextHandler(r.log, nil)), Metrics: r.metrics,
			Ingest: func(ctx context.Context, lines []byte) (client.Receipt, error) {
				receipt, err := answer(ctx, string(lines))
				if err == nil {
					r.keep(string(lines))
				}
				return receipt, err
			},
		})
	}()
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Log(r.log)
		}
	})
	return r
}

func (r *receiver) keep(lines string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, strings.Split(strings.TrimSuffix(lines, "\n"), "\n")...)
}

// accepted returns the lines that were accepted without their times, sorted.
func (r *receiver) accepted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := make([]string, len(r.lines))
	for i, line := range r.lines {
		lines[i] = line[:strings.LastIndex(line, " ")]
	}
	slices.Sort(lines)
	return lines
}

// stop ends the bridge, which must not fail. It does nothing the second time.
func (r *receiver) stop() {
	r.cancel()
	err := <-r.ended
	r.ended <- err
	require.NoError(r.t, err)
}

// count returns the value of a metric of the only broker that has the outcome, if that is not "".
func (r *receiver) count(name, outcome string) float64 {
	r.t.Helper()
	families, err := r.metrics.Gather()
	require.NoError(r.t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			matches := outcome == ""
			for _, l := range m.GetLabel() {
				matches = matches || l.GetName() == "outcome" && l.GetValue() == outcome
			}
			if family.GetName() == "livegraph_mqtt_"+name && matches {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0 // the bridge has not started
}

func (r *receiver) eventually(condition func() bool, what string) {
	r.t.Helper()
	require.Eventually(r.t, condition, time.Minute, 10*time.Millisecond, what)
}

// waitConnected waits until the bridge is connected and has subscribed.
func (r *receiver) waitConnected() {
	r.t.Helper()
	r.eventually(func() bool { return r.count("connected", "") == 1 }, "not connected")
}

// waitLogged waits until the log has a text.
func (r *receiver) waitLogged(text string) {
	r.t.Helper()
	r.eventually(func() bool { return strings.Contains(r.log.String(), text) }, text)
}

// oneBroker returns a configuration.
func oneBroker(b *broker, version, fields string) string {
	return fmt.Sprintf("brokers:\n  - url: %s://%s\n    version: %s\n    clientId: bridge\n    %s\n",
		b.scheme, b.address, version, fields)
}

// numbers is a mapping with messages that are numbers.
const numbers = "mappings: [{topic: 'n/{source}', payload: number, source: '{source}', metric: m}]"

func TestMessagesBecomePoints(t *testing.T) {
	t.Parallel()
	for _, version := range protocols {
		b := startBroker(t, "mqtt", "allow_anonymous true")
		publisher := b.client("publisher", nil)
		finish(t, publisher.Publish("modes/press", 1, true, "kept"))
		finish(t, publisher.Publish("plants/p/kept/speed", 1, true, "1"))
		r := runBridge(t, oneBroker(b, version, strings.TrimSpace(mappings)), 0, accept)
		r.waitConnected()
		finish(t, publisher.Publish("plants/p/press/oil/temp", 1, false, "21.5"))
		finish(t, publisher.Publish("plants/p/press/oil/temp", 1, false, "warm"))
		finish(t, publisher.Publish("modes/press", 0, false, `a "new" mode`))
		finish(t, publisher.Publish("rooms/hall", 2, false, `{"at":1700000000000,"t":-3,"door":{"open":true}}`))
		births := make(chan string, 10)
		finish(t, publisher.Subscribe("spBv1.0/g/NCMD/#", 0, func(_ paho.Client, m paho.Message) { births <- m.Topic() }))
		finish(t, publisher.Publish("spBv1.0/g/NDATA/n", 0, false, "\x12\x0b\x10\x07\x69\x00\x00\x00\x00\x00\x00\xf0\x3f"))
		r.eventually(func() bool { return len(births) == 1 }, "the node is not asked for a birth")
		require.Equal(t, "spBv1.0/g/NCMD/n", <-births)
		want := []string{
			`p/press,plant=p oil/temp=21.5`, `press mode="a \"new\" mode"`, `press mode="kept"`, `room\ hall door.open=1`,
			`room\ hall t=-3`,
		}
		r.eventually(func() bool { return slices.Equal(r.accepted(), want) }, "not all lines are there")
		r.stop()
		require.Equal(t, want, r.accepted())
		require.Contains(t, r.log.String(), "the payload is not a number")
		require.EqualValues(t, 4, r.count("messages_total", "stored"))
		require.EqualValues(t, 1, r.count("messages_total", "retained"))
		require.EqualValues(t, 2, r.count("messages_total", "unmapped"), "a text, and data before a birth")
		require.EqualValues(t, 5, r.count("points_total", "accepted"))
		require.Zero(t, r.count("waiting_messages", ""))
	}
}

func TestPasswordsAreReadForEachConnection(t *testing.T) {
	t.Parallel()
	ca := testenv.NewAuthority(t)
	certificate := ca.Sign("127.0.0.1", time.Hour)
	for _, version := range protocols {
		b := startBroker(t, "mqtts", fmt.Sprintf("allow_anonymous false\npassword_file %s\ncertfile %s\nkeyfile %s",
			passwords(t), certificate.Cert, certificate.Key))
		password := secret(t)
		writeFile(t, password, "wrong\n")
		r := runBridge(t, oneBroker(b, version, fmt.Sprintf(
			"username: u\n    passwordFile: %s\n    tls: {caFile: %s}\n    %s", password, ca.File, numbers,
		)), time.Millisecond, accept)
		r.waitLogged("the connection to the MQTT broker failed; it is tried again: ")
		require.Zero(t, r.count("connected", ""))
		writeFile(t, password, "secret\n")
		r.waitConnected()
		publisher := b.client("publisher", func(o *paho.ClientOptions) {
			o.SetUsername("u").SetPassword("secret").SetTLSConfig(&tls.Config{RootCAs: ca.Pool()})
		})
		finish(t, publisher.Publish("n/a", 1, false, "1"))
		r.eventually(func() bool { return slices.Equal(r.accepted(), []string{"a m=1"}) }, "the point is not there")
	}
}

func TestASubscriptionThatTheBrokerReducesIsReported(t *testing.T) {
	t.Parallel()
	for _, version := range protocols {
		b := startBroker(t, "mqtt", "allow_anonymous true\nmax_qos 0")
		r := runBridge(t, oneBroker(b, version, "sharedGroup: g\n    "+numbers), 0, accept)
		r.waitLogged("it answers 0x00 to a subscription to $share/g/n/+ with QoS 1")
		require.Zero(t, r.count("connected", ""))
	}
}

// TestBridgesOfAGroupShareTheMessages subscribes two bridges of one group over each transport. Each message is
// received by one of them.
func TestBridgesOfAGroupShareTheMessages(t *testing.T) {
	t.Parallel()
	const messages = 200
	for _, scheme := range []string{"mqtt", "ws"} {
		for _, version := range protocols {
			b := startBroker(t, "mqtt", "allow_anonymous true")
			shared := oneBroker(b, version, "sharedGroup: g\n    "+numbers)
			if scheme == "ws" {
				shared = strings.Replace(shared, "mqtt://"+b.address, "ws://"+webSocket(t, b.address)+"/mqtt", 1)
			}
			bridges := []*receiver{
				runBridge(t, shared, 10*time.Millisecond, accept),
				runBridge(t, strings.Replace(shared, "clientId: bridge", "clientId: other", 1), 10*time.Millisecond, accept),
			}
			for _, r := range bridges {
				r.waitConnected()
			}
			publisher := b.client("publisher", nil)
			var expected []string
			for n := range messages {
				finish(t, publisher.Publish(fmt.Sprintf("n/s%03d", n), 1, false, "1"))
				expected = append(expected, fmt.Sprintf("s%03d m=1", n))
			}
			received := func() []string {
				all := slices.Concat(bridges[0].accepted(), bridges[1].accepted())
				slices.Sort(all)
				return all
			}
			bridges[0].eventually(func() bool { return len(received()) >= messages }, "messages are lost")
			require.Equal(t, expected, received(), "over %s with version %s", scheme, version)
			for _, r := range bridges {
				require.NotEmpty(t, r.accepted(), "over %s with version %s", scheme, version)
				r.stop()
			}
		}
	}
}

// The bridge collects exactly four messages for a request, because it has no more in flight and the flush time is long.
func TestAMessageThatTheServerRefusesIsFound(t *testing.T) {
	t.Parallel()
	for _, version := range protocols {
		b := startBroker(t, "mqtt", "allow_anonymous true")
		refuse := func(ctx context.Context, lines string) (client.Receipt, error) {
			switch {
			case strings.Contains(lines, "bad "):
				return client.Receipt{}, fault.New(fault.Invalid, "it is bad")
			case strings.HasPrefix(lines, "late ") && strings.Count(lines, "\n") == 1:
				return client.Receipt{}, fault.New(fault.Invalid, "No point was accepted").With("rejected", 1.0)
			case strings.HasPrefix(lines, "old "):
				rejection := client.Rejection{Field: "points[0].timestamp", Reason: "is old"}
				return client.Receipt{Rejected: 1, Errors: []client.Rejection{rejection}}, nil
			}
			return accept(ctx, lines)
		}
		r := runBridge(t, oneBroker(b, version, "maxInFlight: 4\n    "+numbers), time.Hour, refuse)
		r.waitConnected()
		publisher := b.client("publisher", nil)
		for _, source := range []string{"a", "bad", "b", "c", "old", "bad", "late", "bad", "d"} {
			finish(t, publisher.Publish("n/"+source, 1, false, "1"))
		}
		r.eventually(func() bool { return r.count("messages_total", "refused") == 3 }, "not all requests are refused")
		r.eventually(func() bool { return r.count("waiting_messages", "") == 1 }, "the last message has not arrived")
		r.stop()
		require.Equal(t, []string{"a m=1", "b m=1", "c m=1", "d m=1", "old m=1"}, r.accepted(), "the last one at the end")
		require.EqualValues(t, 6, r.count("messages_total", "stored"))
		require.EqualValues(t, 4, r.count("points_total", "accepted"))
		require.EqualValues(t, 2, r.count("points_total", "rejected"))
		for _, text := range []string{
			"the server refuses a message: it is bad", "points were rejected: points[0].timestamp: is old",
			"points were rejected: No point was accepted",
		} {
			require.Contains(t, r.log.String(), text)
		}
	}
}

func TestAMessageIsAcknowledgedWhenItIsInTheLog(t *testing.T) {
	t.Parallel()
	for _, version := range protocols {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := startBroker(t, "mqtt", "allow_anonymous true")
			config := oneBroker(b, version, numbers)
			unauthorized := func(context.Context, string) (client.Receipt, error) {
				return client.Receipt{}, errors.New("the key is revoked")
			}
			r := runBridge(t, config, time.Millisecond, unauthorized)
			r.waitConnected()
			finish(t, b.client("publisher", nil).Publish("n/a", 1, false, "1"))
			r.waitLogged("the server refuses requests, which are repeated: the key is revoked")
			r.stop()
			require.Contains(t, r.log.String(), "stopped before all messages were sent; the broker delivers them again")

			next := runBridge(t, config, time.Millisecond, accept)
			next.eventually(func() bool { return slices.Equal(next.accepted(), []string{"a m=1"}) }, "not delivered again")
		})
	}
}

func TestOnlyMessagesOfQoS0AreDropped(t *testing.T) {
	t.Parallel()
	for _, version := range protocols {
		b := startBroker(t, "mqtt", "allow_anonymous true")
		requests, release := make(chan string, 10), make(chan struct{})
		r := runBridge(t, oneBroker(b, version, "maxInFlight: 1\n    "+numbers), 0,
			func(ctx context.Context, lines string) (client.Receipt, error) {
				requests <- lines
				select {
				case <-release:
					return accept(ctx, lines)
				case <-ctx.Done():
					return client.Receipt{}, ctx.Err()
				}
			})
		r.waitConnected()
		publisher := b.client("publisher", nil)
		finish(t, publisher.Publish("n/sent", 0, false, "1"))
		r.eventually(func() bool { return len(requests) == 1 }, "nothing is sent") // the bridge waits for the answer
		require.Contains(t, <-requests, "sent ")
		finish(t, publisher.Publish("n/queued", 0, false, "1"))
		finish(t, publisher.Publish("n/dropped", 0, false, "1"))
		r.eventually(func() bool { return r.count("messages_total", "dropped") == 1 }, "nothing is dropped")
		finish(t, publisher.Publish("n/kept", 1, false, "1"))
		r.eventually(func() bool { return r.count("waiting_messages", "") == 3 }, "the message of QoS 1 has not arrived")
		close(release)
		want := []string{"kept m=1", "queued m=1", "sent m=1"}
		r.eventually(func() bool { return slices.Equal(r.accepted(), want) }, "not all lines are there")
		require.Contains(t, r.log.String(), "more messages arrive than the server accepts: messages of QoS 0 are dropped")
	}
}
