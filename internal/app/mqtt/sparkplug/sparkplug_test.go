package sparkplug_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/livegraph/livegraph/internal/app/mqtt/sparkplug"
)

// schema is the part of sparkplug_b.proto that the tests write.
var schema = func() protoreflect.FileDescriptor {
	field := func(
		name string, number int32, kind descriptorpb.FieldDescriptorProto_Type,
	) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: &name, Number: &number, Type: &kind, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	const (
		text, u32, u64 = descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_UINT32,
			descriptorpb.FieldDescriptorProto_TYPE_UINT64
		boolean, message = descriptorpb.FieldDescriptorProto_TYPE_BOOL, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	)
	metrics := field("metrics", 2, message)
	metrics.Label, metrics.TypeName = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), proto.String(".t.Metric")
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto2"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Payload"), Field: []*descriptorpb.FieldDescriptorProto{
				field("timestamp", 1, u64), metrics, field("seq", 3, u64), field("uuid", 4, text),
			}},
			{Name: proto.String("Metric"), Field: []*descriptorpb.FieldDescriptorProto{
				field("name", 1, text), field("alias", 2, u64), field("timestamp", 3, u64), field("datatype", 4, u32),
				field("is_historical", 5, boolean),
				field("is_transient", 6, boolean), field("is_null", 7, boolean), field("int_value", 10, u32),
				field("long_value", 11, u64),
				field("float_value", 12, descriptorpb.FieldDescriptorProto_TYPE_FLOAT),
				field("double_value", 13, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE),
				field("boolean_value", 14, boolean), field("string_value", 15, text),
				field("bytes_value", 16, descriptorpb.FieldDescriptorProto_TYPE_BYTES),
			}},
		},
	}, nil)
	if err != nil {
		panic(err)
	}
	return file
}()

type fields map[string]any

// payload encodes a payload with metrics.
func payload(t *testing.T, timestamp uint64, metrics ...fields) []byte {
	t.Helper()
	set := func(m *dynamicpb.Message, values fields) {
		for name, value := range values {
			m.Set(m.Descriptor().Fields().ByName(protoreflect.Name(name)), protoreflect.ValueOf(value))
		}
	}
	p := dynamicpb.NewMessage(schema.Messages().ByName("Payload"))
	set(p, fields{"timestamp": timestamp, "seq": uint64(1)})
	list := p.Mutable(p.Descriptor().Fields().ByName("metrics")).List()
	for _, values := range metrics {
		m := dynamicpb.NewMessage(schema.Messages().ByName("Metric"))
		set(m, values)
		list.Append(protoreflect.ValueOfMessage(m))
	}
	b, err := proto.Marshal(p)
	require.NoError(t, err)
	return b
}

const arrived = 1_763_700_000_000_000

func read(s *sparkplug.State, topic string, payload []byte, arrivedUS int64) (sparkplug.Message, error) {
	return s.Read(sparkplug.Packet{Topic: topic, Payload: payload, ArrivedUS: arrivedUS})
}

func TestBirthsAndData(t *testing.T) {
	s := sparkplug.NewState()
	birth := payload(t, 1000,
		fields{"name": "bdSeq", "datatype": uint32(8), "long_value": uint64(3)},
		fields{"name": "Node Control/Rebirth", "datatype": uint32(11), "boolean_value": false},
		fields{"name": "temp", "alias": uint64(1), "datatype": uint32(9), "float_value": float32(21.5)},
		fields{
			"name": "small", "alias": uint64(2), "datatype": uint32(1), "int_value": uint32(0xfffffffe),
			"timestamp": uint64(900),
		},
		fields{"name": "big", "alias": uint64(3), "datatype": uint32(4), "long_value": uint64(math.MaxUint64)},
		fields{"name": "mode", "alias": uint64(4), "datatype": uint32(12), "string_value": "auto"},
		fields{"name": "file", "alias": uint64(5), "datatype": uint32(18), "bytes_value": []byte{1}},
		fields{"name": "none", "alias": uint64(6), "datatype": uint32(10), "is_null": true},
		fields{"name": "nan", "alias": uint64(7), "datatype": uint32(10), "double_value": math.NaN()},
	)
	m, err := read(s, "spBv1.0/g/NBIRTH/n", birth, arrived)
	require.NoError(t, err)
	require.Equal(t, sparkplug.Message{Group: "g", Node: "n", Life: 1, Metrics: []sparkplug.Metric{
		{Name: "temp", TimeUS: 1_000_000, Number: 21.5}, {Name: "small", TimeUS: 900_000, Number: -2},
		{Name: "big", TimeUS: 1_000_000, Number: -1}, {Name: "mode", TimeUS: 1_000_000, Text: "auto", IsText: true},
	}}, m)
	_, err = read(s, "spBv1.0/g/DBIRTH/n/d", payload(t, 1000,
		fields{"name": "speed", "alias": uint64(20), "datatype": uint32(2), "int_value": uint32(0xffff)}), arrived)
	require.NoError(t, err)

	m, err = read(s, "spBv1.0/g/DDATA/n/d", payload(t, 0,
		fields{"alias": uint64(20), "int_value": uint32(0xfffd)}), arrived)
	require.NoError(t, err)
	require.Equal(t, sparkplug.Message{Group: "g", Node: "n", Device: "d", Life: 1, Metrics: []sparkplug.Metric{
		{Name: "speed", TimeUS: arrived, Number: -3},
	}}, m, "the type is that of the birth, and without a time it is that of arrival")

	data := payload(t, 2000,
		fields{"alias": uint64(99), "int_value": uint32(1)}, fields{"alias": uint64(1), "float_value": float32(2)})
	m, err = read(s, "spBv1.0/g/NDATA/n", data, arrived)
	require.NoError(t, err)
	require.Equal(t, 1, m.Unknown)
	require.True(t, m.Rebirth)
	require.Equal(t, []sparkplug.Metric{{Name: "temp", TimeUS: 2_000_000, Number: 2}}, m.Metrics)
	m, err = read(s, "spBv1.0/g/NDATA/n", data, arrived+9_999_999)
	require.NoError(t, err)
	require.False(t, m.Rebirth, "the node has been asked less than ten seconds ago")
	m, err = read(s, "spBv1.0/g/NDATA/n", data, arrived+10_000_000)
	require.NoError(t, err)
	require.True(t, m.Rebirth)

	_, err = read(s, "spBv1.0/g/NBIRTH/n", payload(t, 1,
		fields{"name": "new", "alias": uint64(1), "datatype": uint32(11), "boolean_value": true}), arrived)
	require.NoError(t, err)
	m, err = read(s, "spBv1.0/g/NDATA/n", payload(t, 1,
		fields{"alias": uint64(4), "string_value": "x"}, fields{"alias": uint64(1), "boolean_value": true}), arrived)
	require.NoError(t, err)
	require.Equal(t, 1, m.Unknown, "a birth of the node ends all aliases before it")
	require.Equal(t, "new", m.Metrics[0].Name)
}

func TestMessagesWithoutValuesAreIgnored(t *testing.T) {
	s := sparkplug.NewState()
	b := payload(t, 1, fields{"name": "x", "datatype": uint32(10), "double_value": 1.0})
	for _, topic := range []string{
		"spBv1.0/g/NDEATH/n", "spBv1.0/g/DDEATH/n/d", "spBv1.0/g/NCMD/n", "spBv1.0/STATE/host", "spBv1.0/g/NDATA",
		"spBv1.0/g/NDATA/n/d", "spBv1.0/g/DDATA/n", "spBv1.0/g/DDATA/n/d/e", "",
	} {
		m, err := read(s, topic, b, arrived)
		require.NoError(t, err, topic)
		require.Empty(t, m.Metrics, topic)
	}
}

func TestTheRequestForABirth(t *testing.T) {
	topic, b := sparkplug.Rebirth("g", "n", arrived)
	require.Equal(t, "spBv1.0/g/NCMD/n", topic)
	p := dynamicpb.NewMessage(schema.Messages().ByName("Payload"))
	require.NoError(t, proto.Unmarshal(b, p))
	metrics := p.Get(p.Descriptor().Fields().ByName("metrics")).List()
	require.Equal(t, 1, metrics.Len())
	m := metrics.Get(0).Message()
	get := func(name protoreflect.Name) any { return m.Get(m.Descriptor().Fields().ByName(name)).Interface() }
	require.Equal(t, "Node Control/Rebirth", get("name"))
	require.Equal(t, uint32(11), get("datatype"))
	require.Equal(t, true, get("boolean_value"))
	require.Equal(t, uint64(arrived/1000), get("timestamp"))
}

// FuzzParseSparkplug checks that no payload harms the process, and that all values are finite.
func FuzzParseSparkplug(f *testing.F) {
	f.Add("NBIRTH", []byte("\x08\x01\x12\x08\x0a\x01a\x10\x01\x20\x0a"))
	f.Fuzz(func(t *testing.T, kind string, b []byte) {
		s := sparkplug.NewState()
		for range 2 {
			m, err := read(s, "spBv1.0/g/"+kind+"/n", b, arrived)
			for _, metric := range m.Metrics {
				if err == nil && (math.IsNaN(metric.Number) || math.IsInf(metric.Number, 0) || metric.TimeUS < 0) {
					t.Fatal(metric)
				}
			}
		}
	})
}
