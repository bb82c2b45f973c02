package kafka

import (
	"context"
	"fmt"
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

// Size limits. The brokers accept larger batches: by the batch header, and in a dead-letter topic by
// the headers that describe the failure, because a dead letter contains the complete record.
const (
	pointsBatchBytes      = 1 << 20
	commandsBatchBytes    = 10 << 20
	eventsBatchBytes      = 1 << 20
	auditBatchBytes       = 1 << 20
	deadLetterHeaderBytes = 1 << 20
	batchOverhead         = 12 // Kafka's default of max.message.bytes is 1 MiB plus this

	// MaxCommandBytes, MaxEventBytes and MaxAuditBytes are the maximum total bytes of key, value
	// and headers of a record of these topics.
	MaxCommandBytes = 9 << 20
	MaxEventBytes   = 900 << 10
	MaxAuditBytes   = 64 << 10
)

// graphBufferedBytes is the maximum number of bytes of records of a graph topic that wait for their
// acknowledgement.
const graphBufferedBytes = 64 << 20

// auditBufferedBytes is the same for topic audit. Its other records wait in the spool.
const auditBufferedBytes = 16 << 20

// topic is a Livegraph topic with its observed state.
type topic struct {
	label            string // its name without the prefix
	name             string
	batchBytes       int32    // largest record batch
	maxBufferedBytes int64    // maximum bytes waiting for acknowledgement
	group            string   // consumer group whose lag is monitored and limits produces
	otherGroups      []string // consumer groups whose lag does not limit produces
	// onChange is called before a new state of the topic takes effect; may be nil.
	onChange func(context.Context, TopicInfo) error
	// fullMessage is the error message while group lags too far behind retention.
	fullMessage string

	producer           *kgo.Client
	inFlight           inFlightCounts // records sent without the producer that are not acknowledged
	requiredPartitions atomic.Int32   // required partition count; 0: any
	info               atomic.Pointer[TopicInfo]
	observed           atomic.Int64 // when the brokers last confirmed the state in info, Unix nanoseconds
	fill               logFill
	partitions         partitionOffsets
	readerLags         readerLags
	polls              int // by watchTopics
}

// newTopics creates the topics of a client, points first.
func (o *Options) newTopics() []*topic {
	topics := []*topic{
		{
			label: TopicPoints, batchBytes: pointsBatchBytes, maxBufferedBytes: int64(o.BufferedBytes), group: o.PointsGroup,
			onChange: o.OnTopicChange, fullMessage: "Points are not stored fast enough; the log is full",
		},
		{
			label: TopicCommands, batchBytes: commandsBatchBytes, maxBufferedBytes: graphBufferedBytes, group: o.CommandsGroup,
			onChange: o.OnCommandsChange, fullMessage: "Commands are not carried out fast enough; the log is full",
		},
		{label: TopicEvents, batchBytes: eventsBatchBytes, maxBufferedBytes: graphBufferedBytes, otherGroups: o.EventsGroups},
		{
			label: TopicAudit, batchBytes: auditBatchBytes, maxBufferedBytes: auditBufferedBytes, group: o.AuditGroup,
			fullMessage: "Audit records are not stored fast enough; the log is full",
		},
	}
	for _, t := range topics {
		t.name = o.TopicPrefix + t.label
	}
	return topics
}

// inFlightCounts counts unacknowledged records that are sent without the producer.
type inFlightCounts struct{ records, bytes atomic.Int64 }

// trackInFlight adds records to the in-flight counts until done is called.
func (t *topic) trackInFlight(records, bytes int64) (done func()) {
	t.inFlight.records.Add(records)
	t.inFlight.bytes.Add(bytes)
	return func() {
		t.inFlight.records.Add(-records)
		t.inFlight.bytes.Add(-bytes)
	}
}

// bufferedRecords returns the number of records that wait for their acknowledgement.
func (t *topic) bufferedRecords() int64 {
	return t.producer.BufferedProduceRecords() + t.inFlight.records.Load()
}

// bufferedBytes returns the bytes of records that wait for their acknowledgement.
func (t *topic) bufferedBytes() int64 {
	return t.producer.BufferedProduceBytes() + t.inFlight.bytes.Load()
}

// state returns the observed state of the topic, the zero value before EnsureTopics.
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
	return append(groups, t.otherGroups...)
}

// deadLetterTopic returns the name of the dead-letter topic.
func (t *topic) deadLetterTopic() string { return t.name + deadLetterSuffix }

// configs returns the settings of the topic and of its dead-letter topic, by topic name.
func (t *topic) configs(s TopicSettings) map[string]map[string]string {
	return map[string]map[string]string{
		t.name:              topicConfig(s, int(t.maxBytes())),
		t.deadLetterTopic(): topicConfig(s, int(t.deadLetterMaxBytes())),
	}
}

// maxBytes returns the largest batch that the brokers accept.
func (t *topic) maxBytes() int32 {
	if t.label == TopicCommands {
		return t.batchBytes + 2<<20
	}
	return t.batchBytes + batchOverhead
}

// deadLetterMaxBytes returns the largest batch of dead letters that the brokers accept.
func (t *topic) deadLetterMaxBytes() int32 { return t.batchBytes + deadLetterHeaderBytes }

// check returns fault.Invalid if the partition count is not the required one.
func (t *topic) check(info TopicInfo) error {
	fixed := t.requiredPartitions.Load()
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

// batchMaxBytes returns the largest record batch of a topic, given by its full name.
func (c *Client) batchMaxBytes(name string) int32 {
	for _, t := range c.topics {
		switch name {
		case t.name:
			return t.batchBytes
		case t.deadLetterTopic():
			return t.batchBytes + deadLetterHeaderBytes
		}
	}
	return pointsBatchBytes
}

// Topic returns the state of a Livegraph topic, named without the prefix. It is the zero value before
// EnsureTopics.
func (c *Client) Topic(name string) TopicInfo {
	if t := c.topicOf(name); t != nil {
		return t.state()
	}
	return TopicInfo{}
}

// topicOf returns the topic with a name, with or without the prefix, or nil if it is not a Livegraph
// topic.
func (c *Client) topicOf(name string) *topic {
	label := c.Label(name)
	for _, t := range c.topics {
		if t.label == label {
			return t
		}
	}
	return nil
}

// PointsTopic returns the state of topic points that ProducePoints uses. It is the zero value before
// EnsureTopics.
func (c *Client) PointsTopic() TopicInfo { return c.points.state() }

// PointsObservedAt returns the time of the last request to which the brokers responded with the state that
// PointsTopic returns: any change happened later. It is at most about the poll interval ago, longer
// while the brokers are unavailable or a change cannot take effect.
func (c *Client) PointsObservedAt() time.Time { return time.Unix(0, c.points.observed.Load()) }

// Partitions returns the partition count of topic points.
func (c *Client) Partitions() int32 { return c.PointsTopic().Partitions }

// errUnknownTopic returns the error for a name that is not a Livegraph topic.
func errUnknownTopic(name string) error {
	return fmt.Errorf("kafka: %s is not a topic of Livegraph", name)
}
