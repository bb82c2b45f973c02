package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/bytesize"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/kafka/secure"
)

const (
	// embedded is reported as the version of the broker inside the server.
	embedded = "embedded"
	// minOutage is the minimum outage of a consumer that the log should survive.
	minOutage = time.Hour
	// minLogAge is the minimum age of a log for which a rate is computed.
	minLogAge = time.Minute
)

func checkKafka(ctx context.Context, t Target) []Result {
	if len(t.KafkaBrokers) == 0 {
		return missing("kafka", "LIVEGRAPH_KAFKA_BROKERS")
	}
	address := strings.Join(t.KafkaBrokers, ",")
	files, err := t.KafkaSecurity.Client()
	if err != nil {
		return failed("kafka", address, err, filesAdvice)
	}
	login := t.KafkaSecurity
	security, err := secure.New(files, login.Mechanism(), login.SASLUsername, login.SASLPassword.Reveal())
	if err != nil {
		return failed("kafka", address, err, "correct LIVEGRAPH_KAFKA_SASL_MECHANISM")
	}
	client, err := kgo.NewClient(append(security.Opts(nil, checkTimeout/3),
		kgo.SeedBrokers(t.KafkaBrokers...), kgo.RetryTimeout(checkTimeout/3), kgo.RequestRetries(1))...)
	if err != nil {
		return failed("kafka", address, err, "correct LIVEGRAPH_KAFKA_BROKERS")
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	r := Result{Name: "kafka", Status: OK, Address: address}
	topics, err := r.readKafka(ctx, admin, t.Capabilities.Kafka)
	if err != nil {
		return failed("kafka", address, err, cmp.Or(secure.Advice(err),
			reachAdvice("LIVEGRAPH_KAFKA_BROKERS", "the log of the server, inside which Kafka runs")))
	}
	for _, warning := range t.KafkaSecurity.Warnings() {
		r.warn("its settings are unsafe", warning)
	}
	results := append([]Result{r}, checkTopics(ctx, admin, t.TopicPrefix)...)
	if topic, ok := topics[t.PointsTopic]; ok && topic.Err == nil {
		results = append(results, checkRetention(ctx, admin, t, topic))
	}
	return results
}

func (r *Result) readKafka(
	ctx context.Context, admin *kadm.Client, capabilities config.KafkaCapabilities,
) (kadm.TopicDetails, error) {
	meta, err := admin.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	r.LatencyMS, err = medianLatency(func() error {
		versions, err := admin.ApiVersions(ctx)
		for _, broker := range versions.Sorted() {
			if broker.Err == nil {
				r.Version = broker.VersionGuess()
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if capabilities.BatchesInMemory {
		r.Version = embedded
	}
	if dirs, err := kafka.LogDirs(ctx, admin, nil); err == nil {
		var disk int64
		dirs.Each(func(d kadm.DescribedLogDir) { disk += d.Size() })
		r.DiskBytes = &disk
	}
	r.Detail = fmt.Sprintf("%d brokers, %d topics", len(meta.Brokers), len(meta.Topics))
	return meta.Topics, nil
}

// checkTopics reports settings and states of the topics because of which records may be lost, or not
// accepted. Without topics it reports nothing: the first start creates them.
func checkTopics(ctx context.Context, admin *kadm.Client, prefix string) []Result {
	report, err := kafka.CheckTopics(ctx, admin, prefix)
	if err != nil {
		return failed("topics", prefix, err, "check Kafka")
	}
	if report.Topics == 0 {
		return nil
	}
	r := Result{Name: "topics", Status: OK, Address: prefix, Detail: fmt.Sprintf(
		"%s, replication factor %d", plural.Count(report.Topics, "topic"), report.Replication,
	)}
	if report.Replication > 1 && report.MinInsync > 0 {
		r.Detail += fmt.Sprintf(", min.insync.replicas %d", report.MinInsync)
	}
	for _, f := range report.Findings {
		r.warn(strings.Join(f.Topics, ", ")+": "+f.Detail, f.Advice)
	}
	return []Result{r}
}

// checkRetention reports the lag of the points consumer, and how long an outage of it
// can last before ingest rejects requests.
func checkRetention(ctx context.Context, admin *kadm.Client, t Target, topic kadm.TopicDetail) Result {
	r := Result{Name: "retention", Status: OK, Address: t.PointsTopic}
	fail := func(err error) Result {
		return failed("retention", t.PointsTopic, err, "check Kafka")[0]
	}
	limit, err := retentionBytes(ctx, admin, t.PointsTopic)
	if err != nil {
		return fail(err)
	}
	bytes, busiest, age, err := logSize(ctx, admin, t.PointsTopic)
	if err != nil {
		return fail(err)
	}
	partitions := int64(len(topic.Partitions))
	r.DiskBytes = &bytes
	r.Detail = fmt.Sprintf("%d partitions hold %s", partitions, bytesize.Format(bytes))
	records, behind, err := groupLag(ctx, admin, t.PointsGroup, t.PointsTopic)
	if err == nil {
		r.Detail += fmt.Sprintf("; the consumer is %d records behind", behind)
	}
	switch {
	case limit < 0:
		r.warn("its size is unlimited", "set retention.bytes of the topic, or the disk fills up")
	case age >= minLogAge && bytes > 0:
		// The first full partition stops ingest. Where batches are in memory, the number of records is limited too.
		used, advice := float64(busiest)/float64(limit), "raise retention.bytes of the topic (docs/operations.md, Retention "+
			"and outages)"
		if share := float64(records) / kafka.MaxPointsRecords; t.Capabilities.Kafka.BatchesInMemory && share > used {
			used, advice = share, "send more points a request, or run Apache Kafka (docs/operations.md, Retention and outages)"
		}
		outage := time.Duration(t.LogFullThreshold / used * float64(age))
		r.Detail += fmt.Sprintf("; at the rate of the last %s an outage of %s is ridden out before ingest answers 503",
			age.Round(time.Second), outage.Round(time.Second))
		if outage < minOutage {
			r.warn("that is less than an hour", advice)
		}
	}
	return r
}

// retentionBytes returns the retention.bytes of a topic, or -1 if it is unlimited.
func retentionBytes(ctx context.Context, admin *kadm.Client, topic string) (int64, error) {
	configs, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return 0, err
	}
	config, err := configs.On(topic, nil)
	if err != nil {
		return 0, err
	}
	if config.Err != nil {
		return 0, config.Err
	}
	for _, c := range config.Configs {
		if c.Key == "retention.bytes" && c.Value != nil {
			return strconv.ParseInt(*c.Value, 10, 64)
		}
	}
	return -1, nil
}

// logSize returns the size of a topic and of its largest partition in bytes, counting
// replicas once, and the age of its oldest record.
func logSize(
	ctx context.Context, admin *kadm.Client, topic string,
) (bytes, busiest int64, age time.Duration, err error) {
	dirs, err := kafka.LogDirs(ctx, admin, nil)
	if err != nil {
		return 0, 0, 0, err
	}
	largest := map[int32]int64{} // size of the largest replica, by partition
	dirs.Each(func(d kadm.DescribedLogDir) {
		for partition, p := range d.Topics[topic] {
			largest[partition] = max(largest[partition], p.Size)
		}
	})
	for _, n := range largest {
		bytes += n
		busiest = max(busiest, n)
	}
	oldest := time.Now()
	offsets, err := admin.ListOffsetsAfterMilli(ctx, 0, topic)
	if err != nil {
		return 0, 0, 0, err
	}
	offsets.Each(func(o kadm.ListedOffset) {
		if o.Err == nil && o.Timestamp > 0 {
			if t := time.UnixMilli(o.Timestamp); t.Before(oldest) {
				oldest = t
			}
		}
	})
	return bytes, busiest, time.Since(oldest), nil
}

// groupLag returns the number of records of a topic, and how many of them a group has not committed.
func groupLag(ctx context.Context, admin *kadm.Client, group, topic string) (records, behind int64, err error) {
	committed, err := admin.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // nothing is consumed yet
		return 0, 0, err
	}
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return 0, 0, err
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, 0, err
	}
	ends.Each(func(end kadm.ListedOffset) {
		position := int64(0)
		if start, ok := starts.Lookup(topic, end.Partition); ok {
			position = start.Offset
		}
		records += end.Offset - position
		if c, ok := committed.Lookup(topic, end.Partition); ok {
			position = max(position, c.At)
		}
		behind += max(0, end.Offset-position)
	})
	return records, behind, nil
}
