// Package sparkplug reads the messages of Sparkplug B (https://sparkplug.eclipse.org/specification): the values that
// edge nodes and their devices publish at birth and when they change. Messages of data may name their metrics by an
// alias, and leave out their datatypes; a State keeps what the births have defined of them.
package sparkplug

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	namespace = "spBv1.0"
	nameBdSeq = "bdSeq"

	msUS = 1000 // µs of a millisecond
	// maxTimestamp is the latest time in ms since the epoch that is read: the year 9999.
	maxTimestamp = 253_402_300_799_999
)

// Metric is a value of a metric.
type Metric struct {
	Name   string
	TimeUS int64 // since the epoch
	Number float64
	Text   string
	IsText bool
}

// Packet is a message as it arrived.
type Packet struct {
	Topic     string
	Payload   []byte
	ArrivedUS int64 // since the epoch
	// Life is that of the message which an earlier Read returned, 0 at the first time. Births of another life do not
	// explain the message.
	Life int
}

// Message is a parsed message. Device is "" for the node itself.
type Message struct {
	Group, Node, Device string
	Metrics             []Metric
	Unknown             int  // metrics that cannot be understood without a birth
	Rebirth             bool // the node should be asked for a birth
	Awaited             bool // the birth that explains the unknown metrics may come soon
	Life                int  // of the node
}

// State keeps what births have defined. It is not safe for concurrent use.
type State struct {
	nodes       map[string]*node // by group and node
	definitions int
}

// NewState creates a state without nodes.
func NewState() *State { return &State{nodes: map[string]*node{}} }

// Filter returns the topic filter for the messages of a group, or of all groups.
func Filter(group string) string { return namespace + "/" + cmp.Or(group, "+") + "/#" }

// Matches reports whether a topic belongs to a group, or to any if group is "".
func Matches(topic, group string) bool {
	levels := strings.Split(topic, "/")
	return len(levels) > 2 && levels[0] == namespace && (group == "" || levels[1] == group)
}

// ChangesBirths reports whether a topic is one of births or deaths.
func ChangesBirths(topic string) bool {
	l, ok := parseTopic(topic)
	return ok && strings.HasPrefix(topic, namespace+"/") && l.kind != kindData
}

// Rebirth returns the message that asks a node for a birth.
func Rebirth(group, node string, nowUS int64) (topic string, payload []byte) {
	metric := protowire.AppendTag(nil, metricName, protowire.BytesType)
	metric = protowire.AppendString(metric, "Node Control/Rebirth")
	for _, f := range []struct {
		number protowire.Number
		value  uint64
	}{{metricTimestamp, uint64(nowUS / msUS)}, {metricDatatype, typeBoolean}, {metricBoolean, 1}} {
		metric = protowire.AppendVarint(protowire.AppendTag(metric, f.number, protowire.VarintType), f.value)
	}
	payload = protowire.AppendTag(nil, payloadTimestamp, protowire.VarintType)
	payload = protowire.AppendVarint(payload, uint64(nowUS/msUS))
	payload = protowire.AppendBytes(protowire.AppendTag(payload, payloadMetrics, protowire.BytesType), metric)
	return namespace + "/" + group + "/NCMD/" + node, payload
}

// Read parses a message. Births define metrics, deaths end that. Messages that have no values (deaths, commands, states
// of hosts) have no metrics.
func (s *State) Read(packet Packet) (m Message, err error) {
	l, ok := parseTopic(packet.Topic)
	if !ok {
		return m, nil // the state of a host, a command, or no message of Sparkplug
	}
	p, err := parsePayload(packet.Payload)
	if err != nil {
		return m, err
	}
	m.Group, m.Node, m.Device = l.group, l.edgeNode, l.device
	n := s.node(l.node())
	switch l.kind {
	case kindDeath:
		s.die(n, l.device, p.metrics)
		return m, nil
	case kindBirth:
		s.define(n, l.device, p.metrics)
	}
	known, alive := n.births[l.device]
	if m.Life = n.life; packet.Life != 0 && packet.Life != n.life {
		known, alive = birth{}, true
	}
	for i := range p.metrics {
		if raw := &p.metrics[i]; l.kind == kindBirth || known.complete(raw) {
			add(&m, raw, cmp.Or(raw.timestamp, p.timestamp), packet.ArrivedUS)
		} else {
			m.Unknown++
		}
	}
	if m.Unknown > 0 {
		m.Rebirth = n.ask(packet.ArrivedUS)
		m.Awaited = !alive && packet.ArrivedUS < n.awaitUntil
	}
	return m, nil
}

// Kinds of messages.
const (
	kindBirth = "BIRTH"
	kindData  = "DATA"
	kindDeath = "DEATH"
)

// levels are the levels of a topic.
type levels struct {
	group, edgeNode string
	device          string // "": the node itself
	kind            string
}

func (l levels) node() string { return l.group + "/" + l.edgeNode }

// parseTopic returns the levels of a topic of births, data and deaths.
func parseTopic(topic string) (l levels, ok bool) {
	parts := strings.Split(topic, "/")
	if len(parts) < 4 || len(parts) > 5 {
		return l, false
	}
	l.group, l.edgeNode = parts[1], parts[3]
	of := "N"
	if len(parts) == 5 {
		l.device, of = parts[4], "D"
	}
	l.kind, ok = strings.CutPrefix(parts[2], of)
	ok = ok && (l.kind == kindBirth || l.kind == kindData || l.kind == kindDeath)
	return l, ok && (l.device == "") == (of == "N")
}

// add adds a metric to a message, unless it has no value, controls the node, or is transient: not to be stored.
func add(to *Message, m *rawMetric, timestamp uint64, arrivedUS int64) {
	metric := Metric{Name: m.name, TimeUS: arrivedUS}
	if m.controls() || m.transient || !utf8.ValidString(m.name) || !utf8.ValidString(m.text) || !m.value(&metric) {
		return
	}
	if timestamp != 0 && timestamp <= maxTimestamp {
		metric.TimeUS = int64(timestamp) * msUS
	}
	to.Metrics = append(to.Metrics, metric)
}
