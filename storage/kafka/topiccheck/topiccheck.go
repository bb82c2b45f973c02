// Package topiccheck finds settings and states of Kafka's topics because of which records may be lost, or not accepted.
package topiccheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Settings of topics.
const (
	Cleanup        = "cleanup.policy"
	Retention      = "retention.ms" // milliseconds; -1: not removed by age
	RetentionBytes = "retention.bytes"
	MaxMessage     = "max.message.bytes"
	MinInsync      = "min.insync.replicas"

	unclean = "unclean.leader.election.enable"
)

const (
	// ManyReplicas is the number of replicas from which on one of them may be unavailable while a
	// record is stored on two others.
	ManyReplicas = 3
	// SafeInsync is min.insync.replicas for that many replicas: what is acknowledged is on two brokers.
	SafeInsync = 2
)

// groupOffsetsTopic is Kafka's topic with the offsets of consumer groups.
const groupOffsetsTopic = "__consumer_offsets"

// Report is the result of Run.
type Report struct {
	Topics      int // of Livegraph that exist
	Replication int // smallest replication factor of Livegraph's topics
	MinInsync   int // smallest min.insync.replicas of Livegraph's topics
	Findings    []Finding
}

// Finding is a setting or a state because of which records may be lost, or not accepted.
type Finding struct {
	Topics []string
	Detail string // what was found
	Advice string // how to fix it
}

// Topic is a topic of Livegraph.
type Topic struct {
	Name     string
	MaxBatch int64 // bytes of the largest batch that Livegraph sends
}

// Run checks the replicas and the settings of topics, and the replicas of the topic with the offsets of groups. Topics
// that do not exist are not checked, nor are settings that the user must not read.
func Run(ctx context.Context, admin *kadm.Client, checked []Topic) (Report, error) {
	checked = append([]Topic{{Name: groupOffsetsTopic}}, checked...)
	var names []string
	for _, t := range checked {
		names = append(names, t.Name)
	}
	meta, err := admin.Metadata(ctx, names...)
	if err != nil {
		return Report{}, fmt.Errorf("reading metadata: %w", err)
	}
	brokers := knownBrokers(meta)
	var topics []observedTopic
	for _, t := range checked {
		if detail, ok := meta.Topics[t.Name]; ok && detail.Err == nil && len(detail.Partitions) > 0 {
			topics = append(topics, newObservedTopic(detail, brokers, t.MaxBatch))
		}
	}
	if err := readSettings(ctx, admin, topics); err != nil {
		return Report{}, err
	}
	return newReport(topics), nil
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

func newReport(topics []observedTopic) Report {
	var report Report
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
		found := map[string]*Finding{} // by detail
		for i := range topics {
			detail, advice := check(&topics[i])
			if detail == "" {
				continue
			}
			if found[detail] == nil {
				found[detail] = &Finding{Detail: detail, Advice: advice}
			}
			found[detail].Topics = append(found[detail].Topics, topics[i].name)
		}
		for _, detail := range slices.Sorted(maps.Keys(found)) {
			report.Findings = append(report.Findings, *found[detail])
		}
	}
	return report
}
