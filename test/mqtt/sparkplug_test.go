package mqtt

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/stretchr/testify/require"
)

// Metrics of an edge node with two devices. Null, bytes, transient metrics and those that control the node are no
// points.
var (
	temp    = m{Name: "temp", Type: "Float", Value: 21.5, Alias: 1}
	rebirth = m{Name: "Node Control/Rebirth", Type: "Boolean", Value: false, Alias: 2}
	heat    = m{Name: "heat", Type: "Int16", Value: 180, Alias: 40}
	doors   = m{Name: "Doors/Open", Type: "Boolean", Value: true, Alias: 41}

	ofAllTypes = []m{
		{Name: "Values/i8", Type: "Int8", Value: -8, Alias: 10},
		{Name: "Values/i16", Type: "Int16", Value: -300, Alias: 11},
		{Name: "Values/i32", Type: "Int32", Value: -70000, Alias: 12},
		{Name: "Values/i64", Type: "Int64", Value: -5000000000, Alias: 13},
		{Name: "Values/u8", Type: "UInt8", Value: 200, Alias: 14},
		{Name: "Values/u16", Type: "UInt16", Value: 60000, Alias: 15},
		{Name: "Values/u32", Type: "UInt32", Value: 4000000000, Alias: 16},
		{Name: "Values/u64", Type: "UInt64", Value: 5000000000, Alias: 17},
		{Name: "Values/f", Type: "Float", Value: 1.5, Alias: 18},
		{Name: "Values/d", Type: "Double", Value: 0.1, Alias: 19},
		{Name: "Values/b", Type: "Boolean", Value: true, Alias: 20},
		{Name: "Values/s", Type: "String", Value: "auto ü", Alias: 21},
		{Name: "Values/t", Type: "Text", Value: "a\nb", Alias: 22},
		{Name: "Values/id", Type: "UUID", Value: "0198c0de-0000-7000-8000-000000000001", Alias: 23},
		{Name: "Values/when", Type: "DateTime", Value: 1763700000123, Alias: 24},
		{Name: "none", Type: "Double", Alias: 25},
		{Name: "raw", Type: "Bytes", Value: "x", Alias: 26},
		{Name: "passing", Type: "Int32", Value: 5, Alias: 27, Transient: true},
	}
	// changed are the values that the metrics change to: the limits of their types.
	changed = []any{
		-128, -32768, -2147483648, -1, 255, 65535, 4294967295, 9007199254740991, -0.25, 1e-300, false, "", "c", "d",
		1763700000999, nil, "y", 6,
	}
	// printed are the values of ofAllTypes and changed that are points, as the API prints them.
	printed = [][2]string{
		{"-8", "-128"}, {"-300", "-32768"}, {"-70000", "-2147483648"}, {"-5000000000", "-1"}, {"200", "255"},
		{"60000", "65535"}, {"4000000000", "4294967295"}, {"5000000000", "9007199254740991"}, {"1.5", "-0.25"},
		{"0.1", "1e-300"}, {"1", "0"}, {`"auto ü"`, `""`}, {`"a\nb"`, `"c"`},
		{`"0198c0de-0000-7000-8000-000000000001"`, `"d"`}, {"1763700000123", "1763700000999"},
	}
)

// at returns the time of the n-th event in ms.
func at(n int) int64 { return start.Add(time.Duration(n) * time.Minute).UnixMilli() }

// point returns a point as seriesOf has it.
func point(n int, value string) string { return strconv.FormatInt(at(n), 10) + " " + value }

// plant is an edge node, what reads its messages, and the points that there should be.
type plant struct {
	group string
	node  *edgeNode
	want  map[string][]string
}

// expect adds a point to those that there should be. The device of a series is "" for the node.
func (p *plant) expect(device, metric string, points ...string) {
	name := p.group + "/n " + metric + " group=" + p.group
	if device != "" {
		name = p.group + "/n/" + device + " " + metric + " group=" + p.group + " unit=" + device
	}
	p.want[name] = append(p.want[name], points...)
	slices.Sort(p.want[name])
}

// births returns the metrics of the first session at the time of an event.
func births(n int) (node, press, oven []m) {
	press = slices.Clone(ofAllTypes)
	for i := range press {
		press[i].Time = at(n)
	}
	return []m{temp.named(21.5, at(n)), rebirth.named(false, at(n))}, press,
		[]m{heat.named(180, at(n)), doors.named(true, at(n))}
}

// startPlant starts an edge node with the devices press and oven, which publish their births.
func startPlant(t *testing.T, b *broker, group string) *plant {
	t.Helper()
	node, press, oven := births(0)
	p := &plant{group: group, node: startEdgeNode(t, group, "n", node...), want: map[string][]string{}}
	p.node.register("press", press...)
	p.node.register("oven", oven...)
	p.node.connect(b)
	p.expect("", "temp", point(0, "21.5"))
	p.expect("oven", "heat", point(0, "180"))
	p.expect("oven", "Doors/Open", point(0, "1"))
	for i, values := range printed {
		p.expect("press", ofAllTypes[i].Name, point(0, values[0]))
	}
	return p
}

// TestAnEdgeNodeOfAnotherProject reads the messages of an edge node of pysparkplug: births, data, deaths and a second
// session.
func TestAnEdgeNodeOfAnotherProject(t *testing.T) {
	s, b := requireFull(t)
	for version, group := range map[string]string{"5": "five", "3.1.1": "three"} {
		t.Run(version, func(t *testing.T) {
			bridge := sparkplugBridge(t, s, b, version, group)
			p := startPlant(t, b, group)
			requireSeries(t, s, group, p.want)

			p.sendAllTypes()
			requireSeries(t, s, group, p.want)
			p.sendInOtherWays()
			requireSeries(t, s, group, p.want)
			require.Empty(t, p.node.received(), "nothing was unknown")

			p.startSecondSession(b)
			requireSeries(t, s, group, p.want)
			p.endDevice(t, bridge)
			requireSeries(t, s, group, p.want)

			p.node.kill() // the broker publishes the last will
			time.Sleep(time.Second)
			require.Equal(t, p.want, seriesOf(t, s, group), "deaths are no points")
			require.Zero(t, bridge.stop())
		})
	}
}

// sendAllTypes changes all values by messages that have aliases and neither names nor types.
func (p *plant) sendAllTypes() {
	var values []m
	for i, metric := range ofAllTypes {
		values = append(values, metric.data(changed[i], at(1)))
	}
	p.node.data("press", 0, values...)
	for i, v := range printed {
		p.expect("press", ofAllTypes[i].Name, point(1, v[1]))
	}
	p.node.data("", 0, temp.data(22, at(1)))
	p.expect("", "temp", point(1, "22"))
}

// sendInOtherWays sends data by names without types, data with all of it, historical values, and a value of a metric
// that was null.
func (p *plant) sendInOtherWays() {
	p.node.data("oven", 1, heat.named(-1, at(2)))
	p.expect("oven", "heat", point(2, "-1"))
	p.node.do("update", map[string]any{"device": "oven", "metrics": []m{heat.named(-2, at(3)), doors.named(false, at(3))}})
	p.expect("oven", "heat", point(3, "-2"))
	p.expect("oven", "Doors/Open", point(3, "0"))
	p.node.do("update", map[string]any{"metrics": []m{temp.named(-3.5, at(3))}})
	p.expect("", "temp", point(3, "-3.5"))

	var old []m
	for n := -30; n < -20; n++ {
		v := heat.data(n, at(n))
		v.Historical = true
		old = append(old, v)
		p.expect("oven", "heat", point(n, strconv.Itoa(n)))
	}
	p.node.data("oven", 1, old...)
	null := ofAllTypes[15]
	p.node.data("press", 1, null.data(2.5, at(4)), null.data(nil, at(5)))
	p.expect("press", null.Name, point(4, "2.5"))
}

// startSecondSession connects the node again, with the aliases of two metrics and of the devices exchanged.
func (p *plant) startSecondSession(b *broker) {
	p.node.do("disconnect", nil)
	node, _, oven := births(6)
	oven[0].Alias, oven[1].Alias = oven[1].Alias, oven[0].Alias
	heat, doors := oven[0], oven[1]
	// The alias of a metric of another device, which some nodes use again.
	level := m{Name: "level", Type: "Int32", Value: -7, Alias: heat.Alias, Time: at(6)}
	p.node.do("create", map[string]any{"group": p.group, "node": "n", "metrics": node})
	p.node.register("oven", oven...)
	p.node.register("press", level)
	p.node.connect(b)
	p.expect("", "temp", point(6, "21.5"))
	p.expect("oven", "heat", point(6, "180"))
	p.expect("oven", "Doors/Open", point(6, "1"))
	p.expect("press", "level", point(6, "-7"))

	p.node.data("oven", 0, heat.data(-200, at(7)), doors.data(false, at(7)))
	p.expect("oven", "heat", point(7, "-200"))
	p.expect("oven", "Doors/Open", point(7, "0"))
	p.node.data("press", 0, level.data(-8, at(7)))
	p.expect("press", "level", point(7, "-8"))
}

// endDevice has a device die. Aliases of the dead device mean nothing: the host asks for a birth. After a birth they
// have another meaning.
func (p *plant) endDevice(t *testing.T, bridge *bridge) {
	t.Helper()
	p.node.do("deregister", map[string]any{"device": "oven"})
	p.node.data("oven", 0, heat.data(1, at(8)))
	require.Eventually(t, func() bool {
		return slices.Contains(p.node.received(), "Node Control/Rebirth") &&
			strings.Contains(bridge.output(), "the node has not answered the request for a birth")
	}, 30*time.Second, 50*time.Millisecond, "no birth is requested, or the message is not reported")
	weight := m{Name: "weight", Type: "Int8", Value: -100, Alias: heat.Alias, Time: at(9)}
	p.node.register("oven", weight)
	p.node.data("oven", 0, weight.data(-101, at(10)))
	p.expect("oven", "weight", point(9, "-100"), point(10, "-101"))
}

// TestKilledProcessesAndAnEdgeNodeOfAnotherProject kills the bridge and the server while an edge node publishes. The
// bridge does not know the aliases after its start: messages wait until the node has answered the request for a birth.
func TestKilledProcessesAndAnEdgeNodeOfAnotherProject(t *testing.T) {
	s, b := requireFull(t)
	for version, group := range map[string]string{"5": "five", "3.1.1": "three"} {
		t.Run(version, func(t *testing.T) {
			bridge := sparkplugBridge(t, s, b, version, group)
			p := startPlant(t, b, group)
			requireSeries(t, s, group, p.want)
			n := 0
			send := func() {
				for range 25 {
					n++
					p.node.data("oven", 1, heat.data(-n, at(0)+int64(n)))
					p.node.data("press", 1, ofAllTypes[2].data(-n, at(0)+int64(n)))
					value := strconv.FormatInt(at(0)+int64(n), 10) + " " + strconv.Itoa(-n)
					p.expect("oven", "heat", value)
					p.expect("press", ofAllTypes[2].Name, value)
				}
			}
			send()
			bridge.kill()
			send() // the broker keeps the messages
			require.Empty(t, p.node.received())
			bridge.start()
			bridge.waitSubscribed(2)
			send()
			require.Eventually(t, func() bool { return slices.Contains(p.node.received(), "Node Control/Rebirth") },
				30*time.Second, 50*time.Millisecond, "no birth is requested")
			requireSeries(t, s, group, p.want)

			send()
			s.Kill()
			send()
			s.Start()
			send()
			requireSeries(t, s, group, p.want)
			require.NotContains(t, bridge.output(), "birth", "no message was given up")
			p.node.kill()
			require.Zero(t, bridge.stop())
			require.Equal(t, p.want, seriesOf(t, s, group))
		})
	}
}

// Messages of Sparkplug that have an alias or define it.
const (
	one        = "\x69\x00\x00\x00\x00\x00\x00\xf0\x3f"
	aliasData  = "\x12\x0b\x10\x07" + one
	aliasBirth = "\x12\x10\x0a\x01w\x10\x07\x20\x0a" + one
)

// TestDataOfSparkplugWaitsForABirth sends aliases after the start, and after the connection was lost: until then the
// node may have given them another meaning.
func TestDataOfSparkplugWaitsForABirth(t *testing.T) {
	t.Parallel()
	for _, version := range protocols {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := startBroker(t, "mqtt", "allow_anonymous true")
			r := runBridge(t, oneBroker(b, version, "mappings: [{payload: sparkplug}]"), 0, accept)
			r.waitConnected()
			publisher := b.client("publisher", nil)
			births := make(chan string, 10)
			finish(t, publisher.Subscribe("spBv1.0/g/NCMD/#", 0, func(_ paho.Client, m paho.Message) { births <- m.Topic() }))
			asked := func(node string) {
				r.eventually(func() bool { return len(births) == 1 }, "the node is not asked for a birth")
				require.Equal(t, "spBv1.0/g/NCMD/"+node, <-births)
			}
			for round := range 2 {
				if round > 0 {
					b.stop()
					r.eventually(func() bool {
						return r.count("connected", "") == 0 && !publisher.IsConnectionOpen()
					}, "the connections are not lost")
					b.start()
					r.waitConnected()
					r.eventually(publisher.IsConnectionOpen, "the publisher does not connect again")
				}
				finish(t, publisher.Publish("spBv1.0/g/NDATA/n", 0, false, aliasData))
				asked("n")
				r.eventually(func() bool { return r.count("waiting_messages", "") == 1 }, "it does not wait")
				require.Len(t, r.accepted(), 2*round)
				finish(t, publisher.Publish("spBv1.0/g/NBIRTH/n", 0, false, aliasBirth))
				want := slices.Repeat([]string{"g/n w=1"}, 2*round+2)
				r.eventually(func() bool { return slices.Equal(r.accepted(), want) }, "not all lines are there")
				r.eventually(func() bool { return r.count("waiting_messages", "") == 0 }, "a message waits")
			}

			finish(t, publisher.Publish("spBv1.0/g/NDATA/silent", 1, false, aliasData))
			asked("silent")
			r.eventually(func() bool { return r.count("messages_total", "unmapped") == 1 }, "it waits too long")
			r.waitLogged("the node has not answered the request for a birth")
			r.eventually(func() bool { return r.count("waiting_messages", "") == 0 }, "it is not acknowledged")
			require.EqualValues(t, 4, r.count("messages_total", "stored"))
			r.stop()
		})
	}
}
