package topiccheck

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/livegraph/livegraph/internal/platform/plural"
)

// Advice on topics. The section of docs/operations.md has the commands.
const (
	adviceReplicas = "use three brokers or more, three replicas and min.insync.replicas=2 " +
		"(docs/operations.md, Kafka with three brokers)"
	adviceInsync  = "set min.insync.replicas=2 of the topics (docs/operations.md, Kafka with three brokers)"
	adviceBrokers = "start the brokers that are missing, or assign the replicas to others " +
		"(docs/operations.md, Kafka with three brokers)"
)

// topicChecks return what is wrong with a topic and how to fix it, or "".
var topicChecks = []func(*observedTopic) (detail, advice string){
	(*observedTopic).checkOffline,
	(*observedTopic).checkIncomplete,
	(*observedTopic).checkReplication,
	(*observedTopic).checkMinInsync,
	(*observedTopic).checkUnclean,
	(*observedTopic).checkCleanup,
	(*observedTopic).checkRetention,
	(*observedTopic).checkMaxMessage,
}

func (t *observedTopic) checkOffline() (detail, advice string) {
	if t.offline == 0 {
		return "", ""
	}
	return "partitions without a leader accept and return no records", adviceBrokers
}

func (t *observedTopic) checkIncomplete() (detail, advice string) {
	if t.incomplete == 0 {
		return "", ""
	}
	return "partitions lack in-sync replicas", adviceBrokers
}

// checkReplication requires a replica on each of up to three brokers.
func (t *observedTopic) checkReplication() (detail, advice string) {
	if t.replicas >= min(ManyReplicas, t.brokers) {
		return "", ""
	}
	lost := "the loss of a broker loses records"
	if t.replicas > 1 {
		lost = "the loss of " + plural.Count(t.replicas, "broker") + " loses records"
	}
	if t.maxBatch == 0 {
		lost = "without one broker, consumer groups stop"
	}
	return fmt.Sprintf("replication factor %d in a cluster of %d brokers: %s", t.replicas, t.brokers, lost), adviceReplicas
}

// minInsync returns min.insync.replicas, or 0 if it is not known.
func (t *observedTopic) minInsync() int64 { return Number(t.settings[MinInsync], 0) }

// checkMinInsync requires that a record is on two brokers when it is acknowledged, and that one broker
// may be unavailable.
func (t *observedTopic) checkMinInsync() (detail, advice string) {
	insync := t.minInsync()
	advice = adviceInsync
	if t.replicas < ManyReplicas {
		advice = adviceReplicas
	}
	switch {
	case insync == 0:
		return "", ""
	case insync > int64(t.replicas):
		return fmt.Sprintf("min.insync.replicas=%d with %s: no record is accepted", insync,
			plural.Count(t.replicas, "replica")), advice
	case t.replicas < SafeInsync:
		return "", ""
	case insync == int64(t.replicas):
		return fmt.Sprintf("min.insync.replicas=%d with %d replicas: no record is accepted while one broker is unavailable",
			insync, t.replicas), advice
	case insync < SafeInsync:
		return fmt.Sprintf("min.insync.replicas=%d: a record that is acknowledged while the other replicas are unavailable "+
			"exists once, and is lost with its broker", insync), advice
	}
	return "", ""
}

func (t *observedTopic) checkUnclean() (detail, advice string) {
	if value := t.settings[unclean]; value.MaybeValue() != "true" {
		return "", ""
	}
	return "unclean.leader.election.enable=true: a replica without the last records may become leader, and they are lost",
		"set unclean.leader.election.enable=false of the topics"
}

func (t *observedTopic) checkCleanup() (detail, advice string) {
	setting := t.settings[Cleanup]
	policy := setting.MaybeValue()
	if !strings.Contains(policy, "compact") {
		return "", ""
	}
	return "cleanup.policy=" + policy + ": compaction removes records that are not consumed",
		"set cleanup.policy=delete of the topics"
}

func (t *observedTopic) checkRetention() (detail, advice string) {
	if Number(t.settings[Retention], -1) < 0 {
		return "", ""
	}
	setting := t.settings[Retention]
	return "retention.ms=" + setting.MaybeValue() + ": records are removed by age, even if they are not consumed",
		"set retention.ms=-1 of the topics: --kafka-retention removes old records that are consumed"
}

func (t *observedTopic) checkMaxMessage() (detail, advice string) {
	largest := Number(t.settings[MaxMessage], t.maxBatch)
	if largest >= t.maxBatch {
		return "", ""
	}
	return fmt.Sprintf("max.message.bytes=%d: larger records are refused", largest),
		fmt.Sprintf("set max.message.bytes=%d of the topic", t.maxBatch)
}

// Number returns the value of a setting, or absent if it has none.
func Number(setting kadm.Config, absent int64) int64 {
	n, err := strconv.ParseInt(setting.MaybeValue(), 10, 64)
	if err != nil {
		return absent
	}
	return n
}
