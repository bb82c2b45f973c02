// Package sparkplug reads the messages of Sparkplug B (https://sparkplug.eclipse.org/specification): the values that
// edge nodes and their devices publish at birth and when they change. Messages of data may name their metrics by an
// alias, which a birth has defined; a State keeps the aliases.
package sparkplug

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	namespace = "spBv1.0"
	// rebirthInterval is the minimum time between two requests to a node, in µs.
	rebirthInterval = 10_000_000
	// maxNodes and maxAliases bound the state. Data of further nodes and aliases is not understood.
	maxNodes   = 10_000
	maxAliases = 1_000_000

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

// Message is a parsed message. Device is "" for the node itself.
type Message struct {
	Group, Node, Device string
	Metrics             []Metric
	Unknown             int  // metrics with an alias that is not known
	Rebirth             bool // the node should be asked for a birth
}

// State keeps the aliases of nodes. It is not safe for concurrent use.
type State struct {
	nodes   map[string]*node // by group and node
	aliases int
}

type node struct {
	metrics map[uint64]definition // by alias; nil: no birth is known
	askedAt int64                 // for a birth, in µs; 0: never
}

type definition struct {
	name     string
	datatype uint64
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

// Read parses a message that arrived at a time in µs since the epoch. Births define aliases. Messages that have no
// values (deaths, commands, states of hosts) have no metrics.
func (s *State) Read(topic string, payload []byte, arrivedUS int64) (m Message, err error) {
	levels := strings.Split(topic, "/")
	if len(levels) < 4 || len(levels) > 5 {
		return m, nil // the state of a host, or no message of Sparkplug
	}
	m.Group, m.Node = levels[1], levels[3]
	kind := levels[2]
	if len(levels) == 5 {
		m.Device = levels[4]
	}
	isNode, isDevice := kind == "NBIRTH" || kind == "NDATA", kind == "DBIRTH" || kind == "DDATA"
	if !isNode && !isDevice || isDevice != (m.Device != "") {
		return m, nil
	}
	timestamp, raw, err := parsePayload(payload)
	if err != nil {
		return m, err
	}
	n := s.node(m.Group + "/" + m.Node)
	if kind == "NBIRTH" {
		s.aliases -= len(n.metrics)
		n.metrics = map[uint64]definition{}
	}
	for i := range raw {
		if kind == "NBIRTH" || kind == "DBIRTH" {
			s.define(n, &raw[i])
		}
		n.add(&m, &raw[i], cmp.Or(raw[i].timestamp, timestamp), arrivedUS)
	}
	if m.Unknown > 0 && (n.askedAt == 0 || arrivedUS-n.askedAt >= rebirthInterval) {
		m.Rebirth, n.askedAt = true, arrivedUS
	}
	return m, nil
}

// node returns the state of a node. Of nodes beyond the limit it is not kept.
func (s *State) node(name string) *node {
	n := s.nodes[name]
	if n == nil {
		n = &node{}
		if len(s.nodes) < maxNodes {
			s.nodes[name] = n
		}
	}
	return n
}

// define stores the definition of an alias.
func (s *State) define(n *node, m *rawMetric) {
	if !m.hasAlias || m.name == "" {
		return
	}
	if n.metrics == nil {
		n.metrics = map[uint64]definition{}
	}
	if _, known := n.metrics[m.alias]; !known {
		if s.aliases == maxAliases {
			return
		}
		s.aliases++
	}
	n.metrics[m.alias] = definition{m.name, m.datatype}
}

// add adds a metric to a message, unless it has no value or controls the node.
func (n *node) add(to *Message, m *rawMetric, timestamp uint64, arrivedUS int64) {
	if m.name == "" {
		known, ok := n.metrics[m.alias]
		if !ok {
			to.Unknown++
			return
		}
		m.name, m.datatype = known.name, cmp.Or(m.datatype, known.datatype)
	}
	control := m.name == "bdSeq" ||
		strings.HasPrefix(m.name, "Node Control/") || strings.HasPrefix(m.name, "Device Control/")
	metric := Metric{Name: m.name, TimeUS: arrivedUS}
	if control || !utf8.ValidString(m.name) || !utf8.ValidString(m.text) || !m.value(&metric) {
		return
	}
	if timestamp != 0 && timestamp <= maxTimestamp {
		metric.TimeUS = int64(timestamp) * msUS
	}
	to.Metrics = append(to.Metrics, metric)
}
