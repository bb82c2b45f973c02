package sparkplug

import "strings"

const (
	// maxNodes and maxDefinitions bound the state. Data of further nodes and metrics is not understood if it depends on a
	// birth.
	maxNodes       = 10_000
	maxDefinitions = 2_000_000

	// rebirthInterval is the minimum time between two requests to a node, in µs.
	rebirthInterval = 10_000_000
)

// node is what is known of a node.
type node struct {
	births     map[string]birth // by device; "" is the node itself
	bdSeq      uint64           // of the node's own birth
	life       int              // changes when births may get another meaning; from 1
	askedAt    int64            // for a birth, in µs; 0: never
	awaitUntil int64            // in µs: the end of the interval after the first request of a life
}

// node returns the state of a node. Of nodes beyond the limit it is not kept.
func (s *State) node(name string) *node {
	n := s.nodes[name]
	if n == nil {
		n = &node{life: 1}
		if len(s.nodes) < maxNodes {
			s.nodes[name] = n
		}
	}
	return n
}

// ask reports whether a node should be asked for a birth. It is the case once in an interval of a life.
func (n *node) ask(nowUS int64) bool {
	if n.askedAt != 0 && nowUS-n.askedAt < rebirthInterval {
		return false
	}
	n.askedAt = nowUS
	if n.awaitUntil == 0 {
		n.awaitUntil = nowUS + rebirthInterval
	}
	return true
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
	if device == "" {
		seq, _ := bdSeq(metrics)
		if n.births[""].types != nil && seq != n.bdSeq {
			n.startLife()
		}
		n.bdSeq = seq
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

// startLife ends the time in which births have the meaning that they had.
func (n *node) startLife() { n.life, n.askedAt, n.awaitUntil = n.life+1, 0, 0 }

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
		n.startLife()
	}
}

// die ends the birth that a death belongs to. The will of an earlier connection may arrive after the next birth: it has
// another bdSeq.
func (s *State) die(n *node, device string, metrics []rawMetric) {
	if device == "" && n.births[""].types != nil {
		if seq, ok := bdSeq(metrics); ok && seq != n.bdSeq {
			return
		}
	}
	s.forget(n, device)
	n.startLife()
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
