package sparkplug

import "strings"

const (
	// maxNodes and maxDefinitions bound the state. Data of further nodes and metrics is not understood if it depends on a
	// birth.
	maxNodes       = 10_000
	maxDefinitions = 2_000_000
)

// node is what is known of a node.
type node struct {
	births  map[string]birth // by device; "" is the node itself
	bdSeq   uint64           // of the birth
	askedAt int64            // for a birth, in µs; 0: never
}

// birth has the metrics that a birth has defined. Aliases are kept for each device: the specification makes them unique
// in the whole node, but not all nodes obey.
type birth struct {
	types map[string]uint64 // datatypes by name
	names map[uint64]string // by alias
}

func (b birth) size() int { return 1 + len(b.types) + len(b.names) }

// define replaces the metrics of a node or a device by those of its birth.
func (s *State) define(n *node, device string, metrics []rawMetric) {
	b := birth{types: map[string]uint64{}, names: map[uint64]string{}}
	for i := range metrics {
		m := &metrics[i]
		if m.name == "" {
			continue
		}
		b.types[m.name] = m.datatype
		if m.hasAlias {
			b.names[m.alias] = m.name
		}
	}
	s.forget(n, device)
	if s.definitions+b.size() > maxDefinitions {
		return
	}
	if n.births == nil {
		n.births = map[string]birth{}
	}
	n.births[device] = b
	s.definitions += b.size()
}

// forget forgets the birth of a device, or of a node and all its devices.
func (s *State) forget(n *node, device string) {
	for name, b := range n.births {
		if device == "" || name == device {
			s.definitions -= b.size()
			delete(n.births, name)
		}
	}
}

// Forget forgets all births. It is called after messages may have been lost, among them births that gave aliases
// another meaning.
func (s *State) Forget() {
	for _, n := range s.nodes {
		s.forget(n, "")
	}
}

// die ends the birth that a death belongs to. The will of an earlier connection may arrive after the next birth: it has
// another bdSeq.
func (s *State) die(topic levels, metrics []rawMetric) {
	n := s.nodes[topic.node()]
	if n == nil {
		return
	}
	if topic.device == "" {
		if seq, ok := bdSeq(metrics); ok && seq != n.bdSeq && len(n.births) > 0 {
			return
		}
	}
	s.forget(n, topic.device)
}

// bdSeq returns the number that a death has in common with its birth.
func bdSeq(metrics []rawMetric) (seq uint64, ok bool) {
	for i := range metrics {
		if metrics[i].name == nameBdSeq {
			return metrics[i].bits, true
		}
	}
	return 0, false
}

// complete adds to a metric what its birth has defined. It reports false if the metric cannot be understood without a
// birth that is not known: it has no name, or is an integer without a type, which may be signed.
func (b birth) complete(m *rawMetric) bool {
	if m.name == "" {
		name, known := b.names[m.alias]
		if !known || !m.hasAlias {
			return false
		}
		m.name = name
	}
	if m.datatype == 0 {
		m.datatype = b.types[m.name]
	}
	integer := m.field == metricInt || m.field == metricLong
	return m.datatype != 0 || !integer || m.isNull || m.controls()
}

// controls reports whether a metric controls its node or belongs to the protocol.
func (m *rawMetric) controls() bool {
	return m.name == nameBdSeq ||
		strings.HasPrefix(m.name, "Node Control/") || strings.HasPrefix(m.name, "Device Control/")
}
