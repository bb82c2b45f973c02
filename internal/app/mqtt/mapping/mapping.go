// Package mapping maps the messages of MQTT topics to points. Levels of a topic and fields of a payload become names of
// sources, metrics and tags by templates. Payloads are numbers, texts, JSON, or the messages of Sparkplug B.
package mapping

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/app/mqtt/sparkplug"
)

// Config describes the messages of a topic and what they become. See docs/mqtt.md.
type Config struct {
	Topic    string            `yaml:"topic"`
	QoS      *int              `yaml:"qos"` // nil: 1
	Payload  string            `yaml:"payload"`
	Source   string            `yaml:"source"`
	Metric   string            `yaml:"metric"`
	Value    string            `yaml:"value"`
	Fields   map[string]string `yaml:"fields"` // paths by metric
	Tags     map[string]string `yaml:"tags"`
	Time     *Time             `yaml:"time"`     // nil: of arrival
	Retained bool              `yaml:"retained"` // also take messages that the broker kept
	Group    string            `yaml:"group"`    // of Sparkplug; "": all
}

// Time describes where a JSON payload has its time.
type Time struct {
	Field string `yaml:"field"`
	Unit  string `yaml:"unit"` // of numbers; "": ms
}

// Message is a message of a broker.
type Message struct {
	Topic     string
	Payload   []byte
	Retained  bool
	ArrivedUS int64 // since the epoch; different for each message
	Losses    int64 // how often births of Sparkplug may have been lost before this one
	life      int   // of the node of Sparkplug
}

// Point is a value of a series.
type Point struct {
	Source, Metric string
	Tags           map[string]string
	TimeUS         int64 // since the epoch
	Value          Value
}

// Kinds of payloads.
const (
	Number    = "number"
	Text      = "text"
	JSON      = "json"
	Sparkplug = "sparkplug"
)

// Mapping maps messages to points. It is not safe for concurrent use.
type Mapping struct {
	config   Config
	topic    topic
	source   template
	metric   template
	tags     []tagTemplate
	fields   []field  // nil: all
	value    []string // nil: each field is a metric
	timePath []string // nil: of arrival
	timeUnit time.Duration
	used     map[string]bool  // paths of the payload that are the time or part of a template
	state    *sparkplug.State // nil: another payload
	losses   int64            // of the last message
}

type tagTemplate struct {
	key   string
	value template
}

type field struct {
	metric string
	path   []string
}

// New creates a mapping. Its errors name the field of the configuration.
func New(c *Config) (*Mapping, error) {
	m := &Mapping{config: *c}
	if qos := m.QoS(); qos < 0 || qos > 2 {
		return nil, errors.New("qos: must be 0, 1 or 2")
	}
	var err error
	switch c.Payload {
	case Sparkplug:
		err = m.compileSparkplug()
	case Number, Text, JSON:
		err = m.compile()
	default:
		err = fmt.Errorf("payload: must be %s, %s, %s or %s", Number, Text, JSON, Sparkplug)
	}
	return m, err
}

// QoS returns the quality of service to subscribe with.
func (m *Mapping) QoS() int {
	if m.config.QoS == nil {
		return 1
	}
	return *m.config.QoS
}

// Filter returns the topic filter to subscribe to.
func (m *Mapping) Filter() string {
	if m.state != nil {
		return sparkplug.Filter(m.config.Group)
	}
	return m.topic.filter()
}

// KeepsRetained reports whether messages that the broker kept are mapped.
func (m *Mapping) KeepsRetained() bool { return m.config.Retained }

func (m *Mapping) compileSparkplug() error {
	for name, value := range map[string]string{
		"topic": m.config.Topic, "source": m.config.Source, "metric": m.config.Metric, "value": m.config.Value,
	} {
		if value != "" {
			return fmt.Errorf("%s: is given by Sparkplug: leave it out, or choose a group", name)
		}
	}
	if len(m.config.Fields) > 0 || m.config.Time != nil {
		return errors.New("fields and time: are given by Sparkplug: leave them out")
	}
	if strings.ContainsAny(m.config.Group, "+#/") {
		return errors.New("group: must not contain +, # or /")
	}
	m.state = sparkplug.NewState()
	return m.compileTags(map[string]bool{"group": true, "node": true, "device": true}, false)
}

func (m *Mapping) compile() (err error) {
	c, isJSON := &m.config, m.config.Payload == JSON
	if m.topic, err = parseTopic(c.Topic); err != nil {
		return fmt.Errorf("topic: %w", err)
	}
	names := m.topic.names()
	if m.source, err = parseTemplate(c.Source, names, isJSON); err != nil || c.Source == "" {
		return fmt.Errorf("source: %w", cmp.Or(err, errRequired))
	}
	if m.metric, err = parseTemplate(c.Metric, names, isJSON); err != nil {
		return fmt.Errorf("metric: %w", err)
	}
	switch {
	case c.Group != "":
		return errors.New("group: is of Sparkplug only")
	case !isJSON && (c.Value != "" || len(c.Fields) > 0 || c.Time != nil):
		return errors.New("value, fields and time: are of payloads that are JSON only")
	case c.Value != "" && len(c.Fields) > 0:
		return errors.New("fields: must not be set together with value")
	case c.Metric == "" && (!isJSON || c.Value != ""):
		return fmt.Errorf("metric: %w", errRequired)
	case c.Metric != "" && isJSON && c.Value == "":
		return errors.New("metric: requires value; without it, each field is a metric")
	}
	if err := m.compileFields(); err != nil {
		return err
	}
	if err := m.compileTags(names, isJSON); err != nil {
		return err
	}
	m.used = map[string]bool{strings.Join(m.timePath, "."): true}
	m.source.addPaths(m.used)
	for i := range m.tags {
		m.tags[i].value.addPaths(m.used)
	}
	return nil
}

var errRequired = errors.New("is required")

func (m *Mapping) compileFields() (err error) {
	if m.config.Value != "" {
		if m.value, err = parsePath(m.config.Value); err != nil {
			return fmt.Errorf("value: %w", err)
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(m.config.Fields)) {
		path, err := parsePath(m.config.Fields[metric])
		if err != nil {
			return fmt.Errorf("fields.%s: %w", metric, err)
		}
		m.fields = append(m.fields, field{metric, path})
	}
	if t := m.config.Time; t != nil {
		if m.timePath, err = parsePath(t.Field); err != nil {
			return fmt.Errorf("time.field: %w", err)
		}
		if m.timeUnit = units[cmp.Or(t.Unit, "ms")]; m.timeUnit == 0 {
			return errors.New("time.unit: must be s, ms, us or ns")
		}
	}
	return nil
}

func (m *Mapping) compileTags(names map[string]bool, isJSON bool) error {
	for _, key := range slices.Sorted(maps.Keys(m.config.Tags)) {
		value, err := parseTemplate(m.config.Tags[key], names, isJSON)
		if err != nil {
			return fmt.Errorf("tags.%s: %w", key, err)
		}
		m.tags = append(m.tags, tagTemplate{key, value})
	}
	return nil
}

// Matches reports whether a topic is one of the mapping.
func (m *Mapping) Matches(name string) bool {
	if m.state != nil {
		return sparkplug.Matches(name, m.config.Group)
	}
	_, ok := m.topic.match(name)
	return ok
}

// Points returns the points of a message that matches. If the message cannot be mapped, the error says why, and there
// may be points nevertheless; with ErrAwaited, the message may be tried again. reply is a message to publish, nil if
// there is none.
func (m *Mapping) Points(message *Message) (points []Point, reply *Message, err error) {
	if m.state != nil {
		return m.sparkplugPoints(message)
	}
	levels, _ := m.topic.match(message.Topic)
	if m.config.Payload == JSON {
		points, err = m.jsonPoints(levels, message)
		return points, nil, err
	}
	var value Value
	if m.config.Payload == Number {
		value, err = numberValue(message.Payload)
	} else {
		value, err = textValue(message.Payload)
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := m.point(levels, nil, message)
	if err != nil {
		return nil, nil, err
	}
	p.Metric, _ = m.metric.expand(levels, nil)
	p.Value = value
	return []Point{p}, nil, nil
}

// point returns a point with the source, tags and time of a message.
func (m *Mapping) point(levels map[string]string, o *object, message *Message) (p Point, err error) {
	var ok bool
	if p.Source, ok = m.source.expand(levels, o); !ok || p.Source == "" {
		return p, errors.New("the payload lacks a field of the source's name")
	}
	p.Tags, p.TimeUS = m.expandTags(levels, o), message.ArrivedUS
	if m.timePath != nil {
		p.TimeUS, err = o.timeOf(m.timePath, m.timeUnit)
	}
	return p, err
}

// expandTags returns the tags. Those whose fields the payload lacks are left out.
func (m *Mapping) expandTags(levels map[string]string, o *object) map[string]string {
	tags := map[string]string{}
	for i := range m.tags {
		if value, ok := m.tags[i].value.expand(levels, o); ok && value != "" {
			tags[m.tags[i].key] = value
		}
	}
	return tags
}

// jsonPoints returns the points of all objects that can be mapped, and the first error.
func (m *Mapping) jsonPoints(levels map[string]string, message *Message) (points []Point, err error) {
	objects, err := parseObjects(message.Payload)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		of, objectErr := m.objectPoints(levels, o, message)
		points, err = append(points, of...), cmp.Or(err, objectErr)
	}
	return points, err
}

func (m *Mapping) objectPoints(levels map[string]string, o *object, message *Message) ([]Point, error) {
	common, err := m.point(levels, o, message)
	if err != nil {
		return nil, err
	}
	if m.value != nil {
		raw, _ := o.find(m.value)
		var known, mapped bool
		if common.Metric, known = m.metric.expand(levels, o); !known {
			return nil, errors.New("the payload lacks a field of the metric's name")
		}
		if common.Value, mapped = jsonValue(raw); !mapped {
			return nil, fmt.Errorf("the payload has no number, boolean or string at %s", m.config.Value)
		}
		return []Point{common}, nil
	}
	list, err := m.metrics(o)
	if err != nil {
		return nil, err
	}
	points := make([]Point, len(list))
	for i := range list {
		points[i] = common
		points[i].Metric, points[i].Value = list[i].path, list[i].value
	}
	if len(points) == 0 {
		err = errors.New("the payload has no field with a number, boolean or string")
	}
	return points, err
}

// metrics returns the values of an object by metric: those of the configured fields, or all that are not used
// otherwise.
func (m *Mapping) metrics(o *object) ([]scalar, error) {
	if m.fields == nil {
		list, err := o.scalars()
		return slices.DeleteFunc(list, func(s scalar) bool { return m.used[s.path] }), err
	}
	var list []scalar
	for i := range m.fields {
		raw, _ := o.find(m.fields[i].path)
		if value, ok := jsonValue(raw); ok {
			list = append(list, scalar{m.fields[i].metric, value})
		}
	}
	return list, nil
}

// ErrAwaited is the error for a message that a birth of its node may explain, for which the node has been asked.
var ErrAwaited = errors.New("the node has not answered the request for a birth, which defines aliases and types")

var errUnknown = errors.New("the message has aliases, or integers without types, that no birth has defined")

// sparkplugPoints returns the points of a message of Sparkplug.
func (m *Mapping) sparkplugPoints(message *Message) (points []Point, reply *Message, err error) {
	if message.Losses > m.losses {
		m.losses = message.Losses
		m.state.Forget()
	}
	read, err := m.state.Read(sparkplug.Packet{
		Topic: message.Topic, Payload: message.Payload, ArrivedUS: message.ArrivedUS, Life: message.life,
	})
	if err != nil {
		return nil, nil, err
	}
	if message.life == 0 {
		message.life = read.Life
	}
	source := read.Group + "/" + read.Node
	if read.Device != "" {
		source += "/" + read.Device
	}
	tags := m.expandTags(map[string]string{"group": read.Group, "node": read.Node, "device": read.Device}, nil)
	for i := range read.Metrics {
		metric := &read.Metrics[i]
		points = append(points, Point{
			Source: source, Metric: metric.Name, Tags: tags, TimeUS: metric.TimeUS,
			Value: Value{Number: metric.Number, Text: metric.Text, IsText: metric.IsText},
		})
	}
	switch {
	case read.Awaited:
		err = ErrAwaited
	case read.Unknown > 0:
		err = errUnknown
	}
	if read.Rebirth {
		reply = &Message{}
		reply.Topic, reply.Payload = sparkplug.Rebirth(read.Group, read.Node, message.ArrivedUS)
	}
	return points, reply, err
}
