package kafka

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/livegraph/livegraph/storage/kafka/topiccheck"
)

// Overview is a summary of a topic for operators.
type Overview struct {
	Label          string // without the prefix
	Name           string
	ID             [16]byte
	RetentionBytes int64 // retention.bytes of each partition; -1: unlimited
	Partitions     []PartitionOverview
	Readers        []Reader // built-in consumers of the topic
}

// PartitionOverview contains the offsets of a partition and the bytes of its largest replica.
type PartitionOverview struct {
	Partition  int32
	Start, End int64 // offsets of the records in the log; End is exclusive
	Bytes      int64
}

// Reader contains the committed offsets of a consumer group of a topic.
type Reader struct {
	Group string
	// Committed has the order of the overview's partitions; -1 where the group has committed
	// nothing.
	Committed []int64
}

// Lag returns the number of records of a partition that the reader has not committed. index is the
// partition's index in the overview.
func (r *Reader) Lag(p *PartitionOverview, index int) int64 {
	return PartitionState{Start: p.Start, End: p.End, Committed: r.Committed[index]}.lag()
}

// Labels returns the names of Livegraph's topics and their dead-letter topics, without the prefix.
func Labels() []string {
	var all []string
	for _, label := range []string{TopicPoints, TopicCommands, TopicEvents, TopicAudit} {
		all = append(all, label, label+deadLetterSuffix)
	}
	return all
}

// CheckTopics finds what endangers the records of Livegraph's topics. See topiccheck.Run.
func CheckTopics(ctx context.Context, admin *kadm.Client, prefix string) (topiccheck.Report, error) {
	var topics []topiccheck.Topic
	for _, t := range (&Options{TopicPrefix: prefix}).newTopics() {
		topics = append(topics, topiccheck.Topic{Name: t.name, MaxBatch: int64(t.maxBytes())},
			topiccheck.Topic{Name: t.deadLetterTopic(), MaxBatch: int64(t.deadLetterMaxBytes())})
	}
	return topiccheck.Run(ctx, admin, topics)
}

// IsDeadLetters reports whether a topic is a dead-letter topic, and returns the name of the topic
// that its dead letters come from.
func IsDeadLetters(name string) (origin string, ok bool) {
	return strings.CutSuffix(name, deadLetterSuffix)
}

// DeadLetterTopic returns the name of a topic's dead-letter topic.
func DeadLetterTopic(name string) string { return name + deadLetterSuffix }

// fullName returns a name with the prefix, which it adds if missing.
func (c *Client) fullName(name string) string {
	if strings.HasPrefix(name, c.opts.TopicPrefix) {
		return name
	}
	return c.opts.TopicPrefix + name
}

// Label returns a name without the prefix.
func (c *Client) Label(name string) string { return strings.TrimPrefix(name, c.opts.TopicPrefix) }

// Overviews reads the overviews of topics, named with or without the prefix, or of all of
// Livegraph's topics if names is empty. It omits topics that do not exist.
func (c *Client) Overviews(ctx context.Context, names ...string) ([]Overview, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	if len(names) == 0 {
		names = Labels()
	}
	full := make([]string, len(names))
	for i, name := range names {
		full[i] = c.fullName(name)
	}
	meta, err := c.admin.Metadata(ctx, full...)
	if err != nil {
		return nil, errRequest("reading metadata", err)
	}
	var overviews []Overview
	var all kadm.TopicsSet
	for _, name := range full {
		detail, ok := meta.Topics[name]
		switch {
		case !ok, errors.Is(detail.Err, kerr.UnknownTopicOrPartition):
			continue
		case detail.Err != nil:
			return nil, errRequest("reading topic "+name, detail.Err)
		}
		o := Overview{Label: c.Label(name), Name: name, ID: detail.ID, RetentionBytes: -1}
		if t := c.topicOf(name); t != nil {
			for _, group := range t.readers() {
				o.Readers = append(o.Readers, Reader{Group: group})
			}
		}
		for _, p := range slices.Sorted(maps.Keys(detail.Partitions)) {
			o.Partitions = append(o.Partitions, PartitionOverview{Partition: p})
			all.Add(name, p)
		}
		overviews = append(overviews, o)
	}
	for i := range overviews {
		if err := c.addOffsets(ctx, &overviews[i]); err != nil {
			return nil, err
		}
	}
	return overviews, c.addSizes(ctx, overviews, all)
}

// addOffsets adds a topic's offsets and those of its readers to its overview.
func (c *Client) addOffsets(ctx context.Context, o *Overview) error {
	bounds, err := c.bounds(ctx, o.Name)
	if err != nil {
		return err
	}
	for i := range o.Partitions {
		p := &o.Partitions[i]
		p.Start, p.End = bounds[p.Partition].From, bounds[p.Partition].To
	}
	for i := range o.Readers {
		r := &o.Readers[i]
		committed, err := c.committed(ctx, r.Group)
		if err != nil {
			return err
		}
		for _, p := range o.Partitions {
			offset := int64(-1)
			if at, ok := committed.Lookup(o.Name, p.Partition); ok && at.Err == nil {
				offset = at.At
			}
			r.Committed = append(r.Committed, offset)
		}
	}
	return nil
}

// LogDirs returns the log directories of the brokers that respond, with the partitions of a set; nil: all
// partitions. Partitions whose replicas are all on other brokers are missing. It returns an error only if
// no broker responds: the loss of one must not make the others' sizes unknown.
func LogDirs(ctx context.Context, admin *kadm.Client, partitions kadm.TopicsSet) (kadm.DescribedAllLogDirs, error) {
	dirs, err := admin.DescribeAllLogDirs(ctx, partitions)
	if partial, ok := errors.AsType[*kadm.ShardErrors](err); ok && !partial.AllFailed {
		err = nil
	}
	return dirs, err
}

// addSizes adds the retention and the partitions' bytes to overviews.
func (c *Client) addSizes(ctx context.Context, overviews []Overview, all kadm.TopicsSet) error {
	if len(overviews) == 0 {
		return nil
	}
	configs, err := c.admin.DescribeTopicConfigs(ctx, all.Topics()...)
	if err != nil {
		return errRequest("reading the topics' settings", err)
	}
	dirs, err := LogDirs(ctx, c.admin, all)
	if err != nil {
		return errRequest("reading the partitions' sizes", err)
	}
	for i := range overviews {
		o := &overviews[i]
		for _, topic := range configs {
			for _, setting := range topic.Configs {
				if topic.Name == o.Name && setting.Key == topiccheck.RetentionBytes {
					if n, err := strconv.ParseInt(setting.MaybeValue(), 10, 64); err == nil {
						o.RetentionBytes = n
					}
				}
			}
		}
		dirs.Each(func(d kadm.DescribedLogDir) {
			for j := range o.Partitions {
				p := &o.Partitions[j]
				p.Bytes = max(p.Bytes, d.Topics[o.Name][p.Partition].Size)
			}
		})
	}
	return nil
}
