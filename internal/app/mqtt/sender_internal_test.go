package mqtt

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/mqtt/mapping"
)

// Messages of Sparkplug: data with an alias, and a birth that defines it.
const (
	aliasTopic, birthTopic = "spBv1.0/g/NDATA/n", "spBv1.0/g/NBIRTH/n"
	one                    = "\x69\x00\x00\x00\x00\x00\x00\xf0\x3f"
	aliasData              = "\x12\x0b\x10\x07" + one
	aliasBirth             = "\x12\x10\x0a\x01w\x10\x07\x20\x0a" + one
)

// testSender is a sender without a broker.
type testSender struct {
	*sender
	t     *testing.T
	acked []string // payloads
	asked []string // topics
	sent  int      // messages of batches
}

func newTestSender(t *testing.T, fields string) *testSender {
	t.Helper()
	c, err := Parse(strings.NewReader("brokers:\n  - {url: 'mqtt://h', clientId: c, " + fields + ", mappings: [" +
		"{payload: sparkplug}, {topic: 'n/{s}', payload: number, source: '{s}', metric: m}]}"))
	require.NoError(t, err)
	s := &testSender{t: t}
	s.sender = &sender{
		link: &link{
			broker: c.Brokers[0], deps: Deps{Flush: time.Millisecond}, metrics: newMetrics(prometheus.NewRegistry()),
			logger: slog.New(slog.DiscardHandler), queue: make(chan delivery, 100), stopped: make(chan struct{}),
		},
		publish: func(_ context.Context, topic string, _ []byte) error {
			s.asked = append(s.asked, topic)
			return nil
		},
	}
	return s
}

func (s *testSender) receive(topic, payload string, qos byte) {
	s.link.receive(topic, []byte(payload), qos, false, func() { s.acked = append(s.acked, payload) })
}

// flush collects all messages, acknowledges them, and returns their lines without the times.
func (s *testSender) flush() (lines []string) {
	s.t.Helper()
	for len(s.queue) > 0 {
		b, ok := s.collect(s.t.Context())
		require.True(s.t, ok)
		s.acknowledge(b)
		s.sent += len(b.deliveries)
		for line := range strings.Lines(string(b.lines)) {
			lines = append(lines, line[:strings.LastIndex(line, " ")])
		}
	}
	return lines
}

func TestAcknowledgementsKeepTheOrderOfMessages(t *testing.T) {
	t.Parallel()
	s := newTestSender(t, "maxInFlight: 10")
	s.receive("n/a", "1", 1)
	s.receive(aliasTopic, aliasData, 1)
	s.receive("n/a", "2", 1)
	s.receive("n/a", "3", 0)
	require.Equal(t, []string{"a m=1", "a m=2", "a m=3"}, s.flush())
	require.Equal(t, []string{"1"}, s.acked, "2 follows a message that is held")
	require.Equal(t, []string{"spBv1.0/g/NCMD/n"}, s.asked)
	s.receive(birthTopic, aliasBirth, 0)
	require.Equal(t, []string{"g/n w=1", "g/n w=1"}, s.flush())
	require.Equal(t, []string{"1", aliasData, "2"}, s.acked)
	require.Equal(t, 5, s.sent)
}

func TestHeldMessagesAreBounded(t *testing.T) {
	t.Parallel()
	s := newTestSender(t, "maxInFlight: 4")
	for range 3 {
		s.receive(aliasTopic, aliasData, 0)
	}
	require.Empty(t, s.flush())
	require.Len(t, s.held, 2)
	require.Equal(t, 1, s.sent, "half of maxInFlight waits")

	s = newTestSender(t, "maxInFlight: 4")
	s.receive(aliasTopic, aliasData, 1)
	for range 3 {
		s.receive("n/a", "1", 1)
	}
	require.Len(t, s.flush(), 3)
	require.Empty(t, s.acked)
	s.receive("n/a", "1", 1)
	require.Len(t, s.flush(), 1)
	require.Len(t, s.acked, 5, "no more than maxInFlight wait for an acknowledgement")
	require.Empty(t, s.held)
}

// Births that are lost may have given aliases another meaning.
func TestAliasesAreForgottenWhenBirthsMayBeLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testSender){
		"a dropped birth": func(s *testSender) {
			for len(s.queue) < cap(s.queue) {
				s.queue <- delivery{Message: mapping.Message{Topic: "x"}, done: new(bool)}
			}
			s.receive(birthTopic, aliasBirth, 0)
			for len(s.queue) > 0 {
				<-s.queue
			}
		},
		"a lost connection": func(s *testSender) { s.setConnected(false, nil) },
	} {
		s := newTestSender(t, "maxInFlight: 10")
		s.receive(birthTopic, aliasBirth, 0)
		s.receive(aliasTopic, aliasData, 0)
		require.Len(t, s.flush(), 2)
		lose(s)
		s.receive(aliasTopic, aliasData, 0)
		require.Empty(t, s.flush(), name)
		require.Len(t, s.asked, 1, name)
	}
}
