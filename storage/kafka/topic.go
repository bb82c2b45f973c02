package kafka

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Names of the topics, without the configured prefix.
const (
	TopicPoints      = "points"
	TopicCommands    = "graph.commands"
	TopicEvents      = "graph.events"
	TopicAudit       = "audit"
	deadLetterSuffix = ".dlq"
)

// Largest records. What the brokers take is more, by the room that a batch's own
// header needs, and in a topic of dead letters by the story of the failure: a dead
// letter is a whole record.
const (
	pointsBatchBytes   = 1 << 20
	commandsBatchBytes = 10 << 20
	eventsBatchBytes   = 1 << 20
	auditBatchBytes    = 1 << 20
	storyBytes         = 1 << 20
	batchOverhead      = 12 // Kafka's own default of a topic is 1 MiB and this

	// MaxCommandBytes and MaxEventBytes are the most that the key, the value and the
	// headers of a record of these topics may have.
	MaxCommandBytes = 9 << 20
	MaxEventBytes   = 900 << 10
	MaxAuditBytes   = 64 << 10
)

// graphBufferedBytes is the maximum number of bytes of records of one of the graph's topics that
// wait for their acknowledgement.
const graphBufferedBytes = 64 << 20

// auditBufferedBytes is the same of topic audit, whose records wait in the spool.
const auditBufferedBytes = 16 << 20

// topic is one of our topics, with what is known of it.
type topic struct {
	label      string // its name without the prefix
	name       string
	batchBytes int32    // largest record batch
	buffered   int64    // most bytes waiting for their acknowledgement
	group      string   // whose lag is watched
	others     []string // groups that read it, too
	// onChange is called before a new state of the topic takes effect; may be nil.
	onChange func(context.Context, TopicInfo) error
	// full is what a client is told while group lags too far behind retention.
	full string

	producer   *kgo.Client
	direct     passing      // what is on its way past the producer
	fixed      atomic.Int32 // the partitions that it must have; 0: any
	info       atomic.Pointer[TopicInfo]
	asked      atomic.Int64 // when the brokers last said that the topic is as info has it, Unix nanoseconds
	fill       logFill
	partitions partitions
	seen       readers
	looks      int // of watchTopics
}

// newTopics creates the topics of a client, points first.
func (o *Options) newTopics() []*topic {
	topics := []*topic{
		{
			label: TopicPoints, batchBytes: pointsBatchBytes, buffered: int64(o.BufferedBytes), group: o.PointsGroup,
			onChange: o.OnTopicChange, full: "Points are not stored fast enough; the log is full",
		},
		{
			label: TopicCommands, batchBytes: commandsBatchBytes, buffered: graphBufferedBytes, group: o.CommandsGroup,
			onChange: o.OnCommandsChange, full: "Commands are not carried out fast enough; the log is full",
		},
		{label: TopicEvents, batchBytes: eventsBatchBytes, buffered: graphBufferedBytes, others: o.EventsGroups},
		{
			label: TopicAudit, batchBytes: auditBatchBytes, buffered: auditBufferedBytes, group: o.AuditGroup,
			full: "Audit records are not stored fast enough; the log is full",
		},
	}
	for _, t := range topics {
		t.name = o.TopicPrefix + t.label
	}
	return topics
}

// passing counts records on their way past the producer.
type passing struct{ records, bytes atomic.Int64 }

// sending counts records on their way past the producer, until done is called.
func (t *topic) sending(records, bytes int64) (done func()) {
	t.direct.records.Add(records)
	t.direct.bytes.Add(bytes)
	return func() {
		t.direct.records.Add(-records)
		t.direct.bytes.Add(-bytes)
	}
}

// bufferedRecords returns how many records wait for their acknowledgement.
func (t *topic) bufferedRecords() int64 {
	return t.producer.BufferedProduceRecords() + t.direct.records.Load()
}

// bufferedBytes returns the bytes of records that wait for their acknowledgement.
func (t *topic) bufferedBytes() int64 {
	return t.producer.BufferedProduceBytes() + t.direct.bytes.Load()
}

// state returns what is known of the topic; the zero value before EnsureTopics.
func (t *topic) state() TopicInfo {
	if info := t.info.Load(); info != nil {
		return *info
	}
	return TopicInfo{}
}

// readers returns the groups of the built-in consumers of the topic.
func (t *topic) readers() (groups []string) {
	if t.group != "" {
		groups = append(groups, t.group)
	}
	return append(groups, t.others...)
}

// deadLetters is the name of the topic of its dead letters.
func (t *topic) deadLetters() string { return t.name + deadLetterSuffix }

// configs returns the settings of the topic and of that of its dead letters.
func (t *topic) configs(s TopicSettings) map[string]map[string]string {
	return map[string]map[string]string{
		t.name:          topicConfig(s, int(t.maxBytes())),
		t.deadLetters(): topicConfig(s, int(t.batchBytes+storyBytes)),
	}
}

// maxBytes is what the brokers take as one batch.
func (t *topic) maxBytes() int32 {
	if t.label == TopicCommands {
		return t.batchBytes + 2<<20
	}
	return t.batchBytes + batchOverhead
}

// check refuses a state of the topic that it must not have.
func (t *topic) check(info TopicInfo) error {
	fixed := t.fixed.Load()
	if fixed == 0 || info.Partitions == fixed {
		return nil
	}
	return fault.Newf(
		fault.Invalid,
		"topic %s has %d partitions, but %d are configured (--kafka-commands-partitions): its number is fixed, "+
			"because the partition decides the order of a workspace's commands; configure %d",
		info.Name, info.Partitions, fixed, info.Partitions,
	)
}

// batchMaxBytes is the largest record batch of a topic, by its full name.
func (c *Client) batchMaxBytes(name string) int32 {
	for _, t := range c.topics {
		switch name {
		case t.name:
			return t.batchBytes
		case t.deadLetters():
			return t.batchBytes + storyBytes
		}
	}
	return pointsBatchBytes
}

// Topic returns the state of one of our topics, named without the prefix. It is the
// zero value before EnsureTopics.
func (c *Client) Topic(name string) TopicInfo {
	if t := c.topicOf(name); t != nil {
		return t.state()
	}
	return TopicInfo{}
}

// topicOf finds a topic by its name with or without the prefix, nil if it is none
// of ours.
func (c *Client) topicOf(name string) *topic {
	label := strings.TrimPrefix(name, c.opts.TopicPrefix)
	for _, t := range c.topics {
		if t.label == label {
			return t
		}
	}
	return nil
}

// PointsTopic returns the state of topic points: what ProducePoints goes by. It is
// the zero value before EnsureTopics.
func (c *Client) PointsTopic() TopicInfo { return c.points.state() }

// PointsSeen returns when the brokers were last asked and said of topic points what
// PointsTopic gives: a change of it is not older. It is about as old as the topics are
// looked at often, older while the brokers are unavailable or a change cannot take effect.
func (c *Client) PointsSeen() time.Time { return time.Unix(0, c.points.asked.Load()) }

// Partitions returns the partition count of topic points.
func (c *Client) Partitions() int32 { return c.PointsTopic().Partitions }

// errUnknownTopic is for a name that is none of our topics.
func errUnknownTopic(name string) error { return fmt.Errorf("kafka: %s is not a topic of ours", name) }
