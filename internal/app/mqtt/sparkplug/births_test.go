package sparkplug_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/livegraph/livegraph/internal/app/mqtt/sparkplug"
)

const (
	int32Type, uint64Type          = uint32(3), uint32(8)
	nodeBirth, nodeData, nodeDeath = "spBv1.0/g/NBIRTH/n", "spBv1.0/g/NDATA/n", "spBv1.0/g/NDEATH/n"
	second                         = 1_000_000
)

func metric(name string, alias uint64, value int32) fields {
	return fields{"name": name, "alias": alias, "datatype": int32Type, "int_value": uint32(value)}
}

func byAlias(alias uint64, value int32) fields {
	return fields{"alias": alias, "int_value": uint32(value)}
}

func bdSeq(number uint64) fields {
	return fields{"name": "bdSeq", "datatype": uint64Type, "long_value": number}
}

// reader reads messages that arrive a second after each other.
type reader struct {
	t     *testing.T
	state *sparkplug.State
	now   int64
}

func newReader(t *testing.T) *reader {
	return &reader{t: t, state: sparkplug.NewState(), now: arrived}
}

// read reads a message with metrics. It returns their names and numbers, and whether all were known.
func (r *reader) read(topic string, metrics ...fields) (values map[string]float64, known bool) {
	r.t.Helper()
	r.now += second
	message, err := read(r.state, topic, payload(r.t, 1000, metrics...), r.now)
	require.NoError(r.t, err)
	values = map[string]float64{}
	for _, m := range message.Metrics {
		values[m.Name] = m.Number
	}
	return values, message.Unknown == 0
}

func (r *reader) requireUnknown(topic string, metrics ...fields) {
	r.t.Helper()
	values, known := r.read(topic, metrics...)
	require.False(r.t, known, topic)
	require.Empty(r.t, values, topic)
}

func (r *reader) requireRead(want map[string]float64, topic string, metrics ...fields) {
	r.t.Helper()
	values, known := r.read(topic, metrics...)
	require.True(r.t, known, topic)
	require.Equal(r.t, want, values, topic)
}

func TestDataWithNamesHasTheTypeOfTheBirth(t *testing.T) {
	r := newReader(t)
	data := fields{"name": "depth", "int_value": uint32(0xfffffffe)}
	r.requireUnknown(nodeData, data)
	_, known := r.read(nodeData, fields{"name": "depth", "is_null": true}, fields{"name": "mode", "string_value": "x"})
	require.True(t, known, "only integers depend on a type")
	r.read(nodeBirth, fields{"name": "depth", "datatype": int32Type, "int_value": uint32(1)})
	r.requireRead(map[string]float64{"depth": -2}, nodeData, data)
	r.requireRead(map[string]float64{"depth": 0xfffffffe}, nodeData,
		fields{"name": "depth", "datatype": uint32(7), "int_value": uint32(0xfffffffe)})
	r.requireUnknown("spBv1.0/g/DDATA/n/d", data)
}

func TestUnsignedIntegersAreReadFromBothFields(t *testing.T) {
	r := newReader(t)
	r.requireRead(map[string]float64{"a": 4e9, "b": 4e9}, nodeBirth,
		fields{"name": "a", "datatype": uint32(7), "int_value": uint32(4e9)},
		fields{"name": "b", "datatype": uint32(7), "long_value": uint64(4e9)})
}

func TestAliasesBelongToADevice(t *testing.T) {
	r := newReader(t)
	r.read(nodeBirth, metric("a", 1, 0))
	r.read("spBv1.0/g/DBIRTH/n/d", metric("b", 1, 0), metric("c", 2, 0))
	r.read("spBv1.0/g/DBIRTH/n/e", metric("d", 1, 0))
	r.requireRead(map[string]float64{"a": -1}, nodeData, byAlias(1, -1))
	r.requireRead(map[string]float64{"b": -2}, "spBv1.0/g/DDATA/n/d", byAlias(1, -2))
	r.requireRead(map[string]float64{"d": -3}, "spBv1.0/g/DDATA/n/e", byAlias(1, -3))
	r.requireUnknown("spBv1.0/g/DDATA/n/e", byAlias(2, 1))
	r.read("spBv1.0/g/DBIRTH/n/d", metric("b", 1, 0))
	r.requireUnknown("spBv1.0/g/DDATA/n/d", byAlias(2, 1))
}

func TestDeathsEndBirths(t *testing.T) {
	r := newReader(t)
	births := func(seq uint64) {
		r.read(nodeBirth, metric("a", 1, 0), bdSeq(seq))
		r.read("spBv1.0/g/DBIRTH/n/d", metric("b", 2, 0))
		r.read("spBv1.0/g/DBIRTH/n/e", metric("c", 3, 0))
	}
	births(7)
	r.read("spBv1.0/g/DDEATH/n/d")
	r.requireUnknown("spBv1.0/g/DDATA/n/d", byAlias(2, 1))
	r.requireRead(map[string]float64{"c": 1}, "spBv1.0/g/DDATA/n/e", byAlias(3, 1))
	r.read(nodeDeath, bdSeq(6))
	r.requireRead(map[string]float64{"a": 1}, nodeData, byAlias(1, 1))
	r.read(nodeDeath, bdSeq(7))
	r.requireUnknown(nodeData, byAlias(1, 1))
	r.requireUnknown("spBv1.0/g/DDATA/n/e", byAlias(3, 1))
	births(8)
	r.requireRead(map[string]float64{"c": 1}, "spBv1.0/g/DDATA/n/e", byAlias(3, 1))
	r.read(nodeDeath)
	r.requireUnknown(nodeData, byAlias(1, 1))
	births(9)
	r.state.Forget()
	r.requireUnknown(nodeData, byAlias(1, 1))
}

func TestTransientValuesAreNotRead(t *testing.T) {
	r := newReader(t)
	transient := metric("a", 1, 5)
	transient["is_transient"] = true
	historical := metric("b", 2, 6)
	historical["is_historical"] = true
	r.requireRead(map[string]float64{"b": 6}, nodeBirth, transient, historical)
}

func TestCompressedPayloadsAreErrors(t *testing.T) {
	b := protowire.AppendTag(payload(t, 1), 4, protowire.BytesType)
	_, err := read(sparkplug.NewState(), nodeBirth, protowire.AppendString(b, "SPBV1.0_COMPRESSED"), arrived)
	require.EqualError(t, err, "compressed payloads of Sparkplug B are not supported")
	_, err = read(sparkplug.NewState(), nodeBirth, protowire.AppendString(b, "other"), arrived)
	require.NoError(t, err)
}

// A message with unknown aliases may wait for the birth that the node is asked for first, but not for that of another
// life of the node.
func TestMessagesAwaitABirthOfTheSameLife(t *testing.T) {
	s := sparkplug.NewState()
	data := sparkplug.Packet{Topic: nodeData, Payload: payload(t, 1000, byAlias(1, 5)), ArrivedUS: arrived}
	read := func(p sparkplug.Packet) sparkplug.Message {
		m, err := s.Read(p)
		require.NoError(t, err)
		return m
	}
	first := read(data)
	require.True(t, first.Awaited && first.Rebirth)
	later := data
	later.ArrivedUS += 12 * second
	m := read(later)
	require.True(t, m.Rebirth)
	require.False(t, m.Awaited, "the node has not answered the first request")

	again := data
	again.Life = first.Life
	birth := func(metrics ...fields) {
		read(sparkplug.Packet{Topic: nodeBirth, Payload: payload(t, 1000, metrics...), ArrivedUS: arrived})
	}
	birth(metric("a", 1, 0), bdSeq(1))
	m = read(again)
	require.Equal(t, "a", m.Metrics[0].Name)
	require.False(t, m.Rebirth)
	birth(metric("a", 1, 0), bdSeq(1))
	require.Len(t, read(again).Metrics, 1, "it is a second birth of the same life")
	birth(metric("b", 1, 0), bdSeq(2))
	m = read(again)
	require.Equal(t, 1, m.Unknown)
	require.False(t, m.Awaited)
	m = read(data)
	require.Equal(t, "b", m.Metrics[0].Name)
	read(sparkplug.Packet{Topic: nodeDeath, Payload: payload(t, 1, bdSeq(2)), ArrivedUS: arrived})
	data.ArrivedUS += 13 * second
	m = read(data)
	require.True(t, m.Awaited && m.Rebirth, "the next life has a first request of its own")
	birth(metric("b", 2, 0), bdSeq(3))
	require.False(t, read(data).Awaited, "the birth does not have the alias")

	birth(metric("b", 1, 0), bdSeq(3))
	again = data
	again.Life = read(data).Life
	s.Forget()
	birth(metric("b", 1, 0), bdSeq(3))
	require.Equal(t, 1, read(again).Unknown, "births between may have been lost")
	require.Equal(t, 0, read(data).Unknown)
}

func TestTopicsThatChangeBirths(t *testing.T) {
	for topic, want := range map[string]bool{
		nodeBirth: true, nodeDeath: true, nodeData: false, "spBv1.0/g/DBIRTH/n/d": true, "spBv1.0/g/DDEATH/n/d": true,
		"spBv1.0/g/NCMD/n": false, "x/g/NBIRTH/n": false, "spBv1.0/STATE/h": false,
	} {
		require.Equal(t, want, sparkplug.ChangesBirths(topic), topic)
	}
}
