package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Settings of topics.
const (
	settingCleanup        = "cleanup.policy"
	settingRetention      = "retention.ms"
	settingRetentionBytes = "retention.bytes"
	settingMaxMessage     = "max.message.bytes"
	settingUnclean        = "unclean.leader.election.enable"
)

// groupOffsetsTopic is Kafka's topic with the offsets of consumer groups.
const groupOffsetsTopic = "__consumer_offsets"

// TopicReport is the result of CheckTopics.
type TopicReport struct {
	Topics      int // of Livegraph that exist
	Replication int // smallest replication factor of Livegraph's topics
	MinInsync   int // smallest min.insync.replicas of Livegraph's topics
	Findings    []TopicFinding
}

// TopicFinding is a setting or a state because of which records may be lost, or not accepted.
type TopicFinding struct {
	Topics []string
	Detail string // what was found
	Advice string // how to fix it
}

// CheckTopics checks the replicas and the settings of Livegraph's topics, and the replicas of the topic
// with the offsets of groups. Topics that do not exist are not checked, nor are settings that the user
// must not read.
func CheckTopics(ctx context.Context, admin *kadm.Client, prefix string) (TopicReport, error) {
	names := []string{groupOffsetsTopic}
	for _, label := range Labels() {
		names = append(names, prefix+label)
	}
	meta, err := admin.Metadata(ctx, names...)
	if err != nil {
		return TopicReport{}, fmt.Errorf("reading metadata: %w", err)
	}
	brokers := knownBrokers(meta)
	var topics []observedTopic
	for _, name := range names {
		if detail, ok := meta.Topics[name]; ok && detail.Err == nil && len(detail.Partitions) > 0 {
			topics = append(topics, newObservedTopic(detail, brokers, maxBatch(strings.TrimPrefix(name, prefix))))
		}
	}
	if err := readSettings(ctx, admin, topics); err != nil {
		return TopicReport{}, err
	}
	return newTopicReport(topics), nil
}

// observedTopic is what the checks use of a topic.
type observedTopic struct {
	name       string
	brokers    int // of the cluster
	replicas   int // of the partition with the fewest
	offline    int // partitions without a leader
	incomplete int // partitions with replicas that are not in sync
	settings   map[string]kadm.Config
	maxBatch   int64 // largest batch that Livegraph sends; 0: not a topic of Livegraph
}

// knownBrokers returns the number of brokers that are available or have replicas.
func knownBrokers(meta kadm.Metadata) int {
	ids := map[int32]bool{}
	for _, b := range meta.Brokers {
		ids[b.NodeID] = true
	}
	for _, topic := range meta.Topics {
		for _, p := range topic.Partitions {
			for _, id := range p.Replicas {
				ids[id] = true
			}
		}
	}
	return len(ids)
}

// maxBatch returns the largest batch of a topic, named without the prefix, or 0 for another topic.
func maxBatch(label string) int64 {
	for _, t := range (&Options{}).newTopics() {
		for name, settings := range t.configs(TopicSettings{}) {
			if name == label {
				n, _ := strconv.ParseInt(settings[settingMaxMessage], 10, 64) // formatted from a number
				return n
			}
		}
	}
	return 0
}

func newObservedTopic(detail kadm.TopicDetail, brokers int, maxBatch int64) observedTopic {
	t := observedTopic{name: detail.Topic, brokers: brokers, replicas: -1, maxBatch: maxBatch}
	for _, p := range detail.Partitions {
		if p.Leader < 0 || p.Err != nil && !errors.Is(p.Err, kerr.ReplicaNotAvailable) {
			t.offline++
		}
		if len(p.ISR) < len(p.Replicas) {
			t.incomplete++
		}
		if t.replicas < 0 || len(p.Replicas) < t.replicas {
			t.replicas = len(p.Replicas)
		}
	}
	return t
}

// readSettings sets the settings of Livegraph's topics.
func readSettings(ctx context.Context, admin *kadm.Client, topics []observedTopic) error {
	var names []string
	for _, t := range topics {
		if t.maxBatch > 0 {
			names = append(names, t.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	described, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return fmt.Errorf("reading the topics' settings: %w", err)
	}
	for i := range topics {
		found, err := described.On(topics[i].name, nil)
		if err != nil || found.Err != nil {
			continue // not permitted, or the broker does not know a new topic yet
		}
		topics[i].settings = map[string]kadm.Config{}
		for _, s := range found.Configs {
			topics[i].settings[s.Key] = s
		}
	}
	return nil
}

func newTopicReport(topics []observedTopic) TopicReport {
	var report TopicReport
	for _, t := range topics {
		if t.maxBatch == 0 {
			continue
		}
		if insync := int(t.minInsync()); report.MinInsync == 0 || insync > 0 && insync < report.MinInsync {
			report.MinInsync = insync
		}
		if report.Topics++; report.Replication == 0 || t.replicas < report.Replication {
			report.Replication = t.replicas
		}
	}
	for _, check := range topicChecks {
		found := map[string]*TopicFinding{} // by detail
		for i := range topics {
			detail, advice := check(&topics[i])
			if detail == "" {
				continue
			}
			if found[detail] == nil {
				found[detail] = &TopicFinding{Detail: detail, Advice: advice}
			}
			found[detail].Topics = append(found[detail].Topics, topics[i].name)
		}
		for _, detail := range slices.Sorted(maps.Keys(found)) {
			report.Findings = append(report.Findings, *found[detail])
		}
	}
	return report
}
