package mapping_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/mqtt/mapping"
)

const arrived = 1_763_700_000_000_123

func mustMap(t *testing.T, config string) *mapping.Mapping {
	t.Helper()
	m, err := newMapping(config)
	require.NoError(t, err)
	return m
}

func newMapping(config string) (*mapping.Mapping, error) {
	var c mapping.Config
	if err := yaml.NewDecoder(strings.NewReader(config), yaml.Strict()).Decode(&c); err != nil {
		return nil, err
	}
	return mapping.New(&c)
}

// texts returns points as text: source metric{tags} value @time.
func texts(points []mapping.Point) (list []string) {
	for _, p := range points {
		value := fmt.Sprint(p.Value.Number)
		if p.Value.IsText {
			value = fmt.Sprintf("%q", p.Value.Text)
		}
		tags, _ := json.Marshal(p.Tags)
		at := fmt.Sprint(p.TimeUS)
		if p.TimeUS == arrived {
			at = "arrival"
		}
		list = append(list, fmt.Sprintf("%s %s%s %s @%s", p.Source, p.Metric, tags, value, at))
	}
	return list
}

func TestMessagesBecomePoints(t *testing.T) {
	const machine = "topic: plants/{plant}/{machine}/{metric...}\nsource: '{plant}/{machine}'\nmetric: '{metric}'\n" +
		"tags: {plant: '{plant}'}\n"
	const room = "topic: home/{room}\npayload: json\nsource: home/{room}\n"
	for name, c := range map[string]struct {
		config, topic, payload string
		want                   []string
	}{
		"number": {machine + "payload: number", "plants/p1/press/oil/temp", " 21.50 ",
			[]string{`p1/press oil/temp{"plant":"p1"} 21.5 @arrival`}},
		"boolean": {machine + "payload: number", "plants/p1/press/on", "ON",
			[]string{`p1/press on{"plant":"p1"} 1 @arrival`}},
		"text": {machine + "payload: text", "plants/p1/press/mode", "auto mode",
			[]string{`p1/press mode{"plant":"p1"} "auto mode" @arrival`}},
		"an empty level": {machine + "payload: number", "plants/p1/press/", "1", nil},
		"all fields": {room, "home/bath", `{"t":21.5,"door":{"open":true,"by":"key"},"list":[1],"none":null,"huge":1e999}`,
			[]string{`home/bath door.by{} "key" @arrival`, `home/bath door.open{} 1 @arrival`, `home/bath t{} 21.5 @arrival`}},
		"chosen fields": {room + "fields: {temperature: t, 'door open': door.open, absent: x.y}", "home/bath",
			`{"t":-3e2,"door":{"open":false},"z":1}`,
			[]string{`home/bath door open{} 0 @arrival`, `home/bath temperature{} -300 @arrival`}},
		"a field names the metric": {room + "metric: '{.name}'\nvalue: v", "home/bath", `{"name":"hum","v":40}`,
			[]string{`home/bath hum{} 40 @arrival`}},
		"fields in tags are no metrics": {room + "tags: {fw: 'v{.fw.major}', gone: '{.x}'}", "home/bath",
			`{"fw":{"major":3},"t":1}`, []string{`home/bath t{"fw":"v3"} 1 @arrival`}},
		"time in milliseconds": {room + "time: {field: at}", "home/bath", `{"at":1763700000001,"t":1}`,
			[]string{`home/bath t{} 1 @1763700000001000`}},
		"time in fractions": {room + "time: {field: at, unit: s}", "home/bath", `{"at":1763700000.25,"t":1}`,
			[]string{`home/bath t{} 1 @1763700000250000`}},
		"time as text": {room + "time: {field: m.at}", "home/bath", `{"m":{"at":"2025-11-21T05:20:00+01:00"},"t":1}`,
			[]string{`home/bath t{} 1 @1763698800000000`}},
		"an array": {room + "time: {field: at}", "home/bath", `[{"at":1,"t":1},{"at":2,"t":2}]`,
			[]string{`home/bath t{} 1 @1000`, `home/bath t{} 2 @2000`}},
		"the source in the payload": {"topic: all\npayload: json\nsource: '{.id}'", "all", `{"id":"s 1","t":1}`,
			[]string{`s 1 t{} 1 @arrival`}},
	} {
		t.Run(name, func(t *testing.T) {
			m := mustMap(t, c.config)
			if !m.Matches(c.topic) {
				require.Nil(t, c.want)
			}
			if c.want == nil {
				return
			}
			points, reply, err := m.Points(&mapping.Message{Topic: c.topic, Payload: []byte(c.payload), ArrivedUS: arrived})
			require.NoError(t, err)
			require.Nil(t, reply)
			require.Equal(t, c.want, texts(points))
		})
	}
}

func TestMessagesThatCannotBeMappedAreErrors(t *testing.T) {
	const room = "topic: home/{room}\npayload: json\nsource: home/{room}\n"
	deep := strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9)
	for name, c := range map[string]struct{ config, payload, want string }{
		"no number":      {"topic: t\npayload: number\nsource: s\nmetric: m", "warm", "is not a number"},
		"NaN":            {"topic: t\npayload: number\nsource: s\nmetric: m", "NaN", "is not a number"},
		"hexadecimal":    {"topic: t\npayload: number\nsource: s\nmetric: m", "0x1p4", "is not a number"},
		"empty":          {"topic: t\npayload: number\nsource: s\nmetric: m", "", "is not a number"},
		"no UTF-8":       {"topic: t\npayload: text\nsource: s\nmetric: m", "\xff", "is not UTF-8"},
		"no JSON":        {room, `{"t":`, "is not a JSON object"},
		"a number":       {room, `5`, "is not a JSON object"},
		"null":           {room, `null`, "is not a JSON object"},
		"twice":          {room, `{"t":1,"t":2}`, "is not a JSON object"},
		"no fields":      {room, `{"t":null}`, "no field with a number"},
		"deep":           {room, deep, "nested deeper than 8 levels"},
		"many objects":   {room, "[" + strings.Repeat("{},", 1000) + "{}]", "more than 1000 objects"},
		"no time":        {room + "time: {field: at}", `{"t":1}`, "lacks the time at"},
		"a bad time":     {room + "time: {field: at}", `{"at":"today","t":1}`, "RFC 3339"},
		"an early time":  {room + "time: {field: at}", `{"at":-1,"t":1}`, "neither a string nor a number since 1970"},
		"a late time":    {room + "time: {field: at, unit: s}", `{"at":99999999999999,"t":1}`, "neither a string nor"},
		"no metric name": {room + "metric: '{.name}'\nvalue: v", `{"v":1}`, "lacks a field of the metric's name"},
		"no value":       {room + "metric: m\nvalue: v", `{"v":[1]}`, "no number, boolean or string at v"},
		"no source":      {"topic: all\npayload: json\nsource: '{.id}'", `{"t":1}`, "lacks a field of the source's name"},
	} {
		t.Run(name, func(t *testing.T) {
			topic := "t"
			if strings.HasPrefix(c.config, room) {
				topic = "home/bath"
			}
			points, _, err := mustMap(t, c.config).Points(&mapping.Message{Topic: topic, Payload: []byte(c.payload)})
			require.ErrorContains(t, err, c.want)
			require.Empty(t, points)
		})
	}
}

func TestOneBadObjectDoesNotLoseTheOthers(t *testing.T) {
	m := mustMap(t, "topic: t\npayload: json\nsource: s\ntime: {field: at}")
	points, _, err := m.Points(&mapping.Message{Topic: "t", Payload: []byte(`[{"at":1,"v":1},{"v":2},{"at":3,"v":3}]`)})
	require.ErrorContains(t, err, "lacks the time")
	require.Equal(t, []string{"s v{} 1 @1000", "s v{} 3 @3000"}, texts(points))
}

func TestBadMappingsNameTheField(t *testing.T) {
	for config, want := range map[string]string{
		"payload: xml":                                                            "payload: must be",
		"payload: number\nsource: s\nmetric: m":                                   "topic: is required",
		"topic: a/+/b\npayload: number":                                           "topic: must not contain +",
		"topic: $share/g/t\npayload: number":                                      "topic: must not begin with $share",
		"topic: a/x{b}\npayload: number":                                          "must be a whole level",
		"topic: '{a}/{a}'\npayload: number":                                       "has {a} twice",
		"topic: '{a...}/b'\npayload: number":                                      "must end with {a...}",
		"topic: t\npayload: number\nmetric: m":                                    "source: is required",
		"topic: t\npayload: number\nsource: s":                                    "metric: is required",
		"topic: t\npayload: number\nsource: '{x}'":                                "source: has {x}, which the topic",
		"topic: t\npayload: number\nsource: '{.x}'":                               "only payloads that are JSON",
		"topic: t\npayload: number\nsource: '{x'":                                 "has a { without a }",
		"topic: t\npayload: number\nsource: 'x}'":                                 "has a } without a {",
		"topic: t\npayload: json\nsource: '{.a..b}'":                              "a path is the names",
		"topic: t\npayload: json\nsource: s\nmetric: m":                           "metric: requires value",
		"topic: t\npayload: json\nsource: s\nvalue: v":                            "metric: is required",
		"topic: t\npayload: json\nsource: s\nmetric: m\nvalue: v\nfields: {a: b}": "fields: must not be set",
		"topic: t\npayload: json\nsource: s\ntime: {field: a, unit: m}":           "time.unit: must be",
		"topic: t\npayload: json\nsource: s\ntime: {unit: s}":                     "time.field: a path",
		"topic: t\npayload: number\nsource: s\nmetric: m\ntime: {field: a}":       "are of payloads that are JSON only",
		"topic: t\npayload: number\nsource: s\nmetric: m\nqos: 3":                 "qos: must be 0, 1 or 2",
		"topic: t\npayload: number\nsource: s\nmetric: m\ngroup: g":               "group: is of Sparkplug only",
		"topic: t\npayload: number\nsource: s\nmetric: m\ntags: {a: '{b}'}":       "tags.a: has {b}",
		"payload: sparkplug\nsource: s":                                           "source: is given by Sparkplug",
		"payload: sparkplug\ngroup: a/b":                                          "group: must not contain",
		"payload: sparkplug\ntime: {field: a}":                                    "are given by Sparkplug",
	} {
		_, err := newMapping(config)
		require.ErrorContains(t, err, want, config)
	}
}

func TestTopicsMatchTheirFilterOnly(t *testing.T) {
	m := mustMap(t, "topic: a/{b}/c/{d...}\npayload: number\nsource: s\nmetric: m")
	require.Equal(t, "a/+/c/#", m.Filter())
	require.Equal(t, 1, m.QoS())
	for topic, want := range map[string]bool{
		"a/x/c/y": true, "a/x/c/y/z": true, "a//c/y": true, "a/x/c": false, "a/x/c/": false, "a/x/d/y": false, "a": false,
		"": false, "b/x/c/y": false,
	} {
		require.Equal(t, want, m.Matches(topic), topic)
	}
}
