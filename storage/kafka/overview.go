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
)

// Overview is what an operator wants to know of a topic.
type Overview struct {
	Label          string // without the prefix
	Name           string
	ID             [16]byte
	RetentionBytes int64 // kept of each partition; -1: not bounded
	Partitions     []PartitionOverview
	Readers        []Reader // the built-in consumers of it
}

// PartitionOverview is a partition's part of it: offsets, and the bytes of its largest
// replica.
type PartitionOverview struct {
	Partition  int32
	Start, End int64 // of what the log has; the end is exclusive
	Bytes      int64
}

// Reader is how far a consumer group is with a topic.
type Reader struct {
	Group string
	// Committed is -1 where the group has committed nothing. It has the order of the
	// overview's partitions.
	Committed []int64
}

// Lag returns how many records of the partition with this index the reader has not
// committed.
func (r *Reader) Lag(p *PartitionOverview, index int) int64 {
	return PartitionState{Start: p.Start, End: p.End, Committed: r.Committed[index]}.lag()
}

// Labels are the names of our topics and of those of their dead letters, without the
// prefix.
func Labels() []string {
	var all []string
	for _, label := range []string{TopicPoints, TopicCommands, TopicEvents, TopicAudit} {
		all = append(all, label, label+deadLetterSuffix)
	}
	return all
}

// IsDeadLetters reports whether a topic is one of dead letters, and gives the name of
// the topic that they come from.
func IsDeadLetters(name string) (origin string, ok bool) {
	return strings.CutSuffix(name, deadLetterSuffix)
}

// DeadLettersOf names the topic of the dead letters of another one.
func DeadLettersOf(name string) string { return name + deadLetterSuffix }

// fullName puts the prefix before a name that lacks it.
func (c *Client) fullName(name string) string {
	if strings.HasPrefix(name, c.opts.TopicPrefix) {
		return name
	}
	return c.opts.TopicPrefix + name
}

// Label takes the prefix off a name.
func (c *Client) Label(name string) string { return strings.TrimPrefix(name, c.opts.TopicPrefix) }

// Overviews asks for topics, named with or without the prefix; those that do not
// exist are left out. Without names: for all of ours.
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
		return nil, errAsking("reading metadata", err)
	}
	var found []Overview
	var all kadm.TopicsSet
	for _, name := range full {
		detail, ok := meta.Topics[name]
		switch {
		case !ok, errors.Is(detail.Err, kerr.UnknownTopicOrPartition):
			continue
		case detail.Err != nil:
			return nil, errAsking("reading topic "+name, detail.Err)
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
		found = append(found, o)
	}
	for i := range found {
		if err := c.fillOverview(ctx, &found[i]); err != nil {
			return nil, err
		}
	}
	return found, c.sizeOverviews(ctx, found, all)
}

// fillOverview reads a topic's offsets and those of its readers.
func (c *Client) fillOverview(ctx context.Context, o *Overview) error {
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

// sizeOverviews reads the topics' retention and the bytes of their partitions.
func (c *Client) sizeOverviews(ctx context.Context, found []Overview, all kadm.TopicsSet) error {
	if len(found) == 0 {
		return nil
	}
	configs, err := c.admin.DescribeTopicConfigs(ctx, all.Topics()...)
	if err != nil {
		return errAsking("reading the topics' settings", err)
	}
	dirs, err := c.admin.DescribeAllLogDirs(ctx, all)
	if err != nil {
		return errAsking("reading the partitions' sizes", err)
	}
	for i := range found {
		o := &found[i]
		for _, topic := range configs {
			for _, setting := range topic.Configs {
				if topic.Name == o.Name && setting.Key == "retention.bytes" {
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
