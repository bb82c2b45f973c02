package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/retry"
	"github.com/livegraph/livegraph/storage/kafka/recordbatch"
)

// acksAll requests the acknowledgement of all in-sync replicas.
const acksAll = -1

// leadersMaxAge is the maximum age of cached partition leaders while no produce request fails.
const leadersMaxAge = 30 * time.Second

// produceInOrder sends the records in chunks, each after the previous one is acknowledged.
func (c *Client) produceInOrder(ctx context.Context, t *topic, records []kgo.Record) error {
	for len(records) > 0 {
		n := chunkLen(records, t.maxBufferedBytes/2)
		if err := c.produceChunk(ctx, t, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// maxBatchRecordBytes is the maximum of the bytes of the encoded records of a batch.
const maxBatchRecordBytes = eventsBatchBytes - 1<<10

// chunkLen returns the number of leading records, at least one, that fit into one batch per
// partition and have at most maxBytes bytes together.
func chunkLen(records []kgo.Record, maxBytes int64) int {
	total, batches := int64(0), map[int32]int64{}
	for i := range records {
		r := &records[i]
		size := recordbatch.MaxBytes(r)
		total += size
		batches[r.Partition] += size
		if i > 0 && (total > maxBytes || batches[r.Partition] > maxBatchRecordBytes || i >= maxBufferedRecords/2) {
			return i
		}
	}
	return len(records)
}

// produceChunk sends records as one batch per partition, and waits until each batch is
// acknowledged or has failed, at most for the produce timeout.
func (c *Client) produceChunk(ctx context.Context, t *topic, records []kgo.Record) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("kafka: producing to %s: %w", t.name, err)
	}
	size := sizeOf(records)
	if reason, err := c.refusal(t, records, size); err != nil {
		c.metrics.failed.WithLabelValues(t.label, reason).Inc()
		return err
	}
	batches, err := c.batches(records)
	if err != nil {
		return err
	}
	began := time.Now()
	defer t.trackInFlight(int64(len(records)), size)()
	sendCtx, cancel := context.WithTimeout(c.ctx, c.opts.ProduceTimeout)
	defer cancel()
	reason, err := "", c.sendBatches(sendCtx, t, batches)
	switch {
	case errors.Is(err, kerr.MessageTooLarge):
		reason, err = failedOther, fault.Wrap(err, fault.Internal, "A record is larger than the log accepts")
	case errors.Is(sendCtx.Err(), context.DeadlineExceeded) && err != nil:
		reason, err = failedTimeout, errUnavailable().Because(err)
	case err != nil:
		reason, err = failedOther, errUnavailable().Because(err)
	}
	c.metrics.recordProduce(t, len(records), size, began, reason)
	return err
}

// sendBatches sends each batch to the leader of its partition, and retries until it is
// acknowledged, fails permanently, or ctx is done. It returns an error if a batch is not
// acknowledged.
func (c *Client) sendBatches(ctx context.Context, t *topic, pending []batch) error {
	var err, refused error
	age, waits := leadersMaxAge, retry.New(minRetryBackoff, maxRetryBackoff)
	for {
		var permanent error
		if pending, err, permanent = c.sendOnce(ctx, t, pending, age); permanent != nil {
			refused = permanent
		}
		if len(pending) == 0 {
			return refused
		}
		age = 0 // franz-go's minimum age still applies
		if !waits.Wait(ctx) {
			return errors.Join(refused, err, ctx.Err())
		}
	}
}

// sendOnce sends the batches once. It returns the batches to retry with the reason, and the error
// of a batch that failed permanently.
func (c *Client) sendOnce(
	ctx context.Context, t *topic, batches []batch, age time.Duration,
) (again []batch, reason, refused error) {
	id, byLeader, again, err := c.leaders(ctx, t, batches, age)
	if err != nil {
		return batches, err, nil
	}
	if len(again) > 0 {
		reason = fmt.Errorf("topic %s: %w", t.name, kerr.LeaderNotAvailable)
	}
	var mu sync.Mutex
	var requests sync.WaitGroup
	for leader, leaderBatches := range byLeader {
		requests.Go(func() {
			results := c.sendTo(ctx, leader, t, id, leaderBatches)
			mu.Lock()
			defer mu.Unlock()
			for _, b := range leaderBatches {
				switch err := results[b.partition]; {
				case err == nil:
				case kerr.IsRetriable(err) || !errors.As(err, new(*kerr.Error)):
					again, reason = append(again, b), err
				default:
					refused = fmt.Errorf("partition %d of %s: %w", b.partition, t.name, err)
				}
			}
		})
	}
	requests.Wait()
	return again, reason, refused
}

// leaders groups the batches by the broker that leads their partition. It also returns the topic's
// id and the batches whose partitions have no leader.
func (c *Client) leaders(ctx context.Context, t *topic, batches []batch, age time.Duration) (
	id [16]byte, byLeader map[int32][]batch, leaderless []batch, err error,
) {
	request := kmsg.NewPtrMetadataRequest()
	requestTopic := kmsg.NewMetadataRequestTopic()
	requestTopic.Topic = kmsg.StringPtr(t.name)
	request.Topics = append(request.Topics, requestTopic)
	meta, err := t.producer.RequestCachedMetadata(ctx, request, age)
	if err != nil {
		return id, nil, nil, fmt.Errorf("looking up the leaders of %s: %w", t.name, err)
	}
	leaderOf := map[int32]int32{}
	for _, topic := range meta.Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			return id, nil, nil, fmt.Errorf("looking up the leaders of %s: %w", t.name, err)
		}
		id = topic.TopicID
		for _, p := range topic.Partitions {
			leaderOf[p.Partition] = p.Leader
		}
	}
	byLeader = map[int32][]batch{}
	for _, b := range batches {
		if leader, known := leaderOf[b.partition]; known && leader >= 0 {
			byLeader[leader] = append(byLeader[leader], b)
		} else {
			leaderless = append(leaderless, b)
		}
	}
	return id, byLeader, leaderless, nil
}

// sendTo sends the batches to a broker in one request and returns the error of each partition. If
// it is not a *kerr.Error, the batch may or may not be in the log.
func (c *Client) sendTo(ctx context.Context, broker int32, t *topic, id [16]byte, batches []batch) map[int32]error {
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID = t.name, id
	results := make(map[int32]error, len(batches))
	for _, b := range batches {
		partition := kmsg.NewProduceRequestTopicPartition()
		partition.Partition, partition.Records = b.partition, b.encoded
		topic.Partitions = append(topic.Partitions, partition)
		results[b.partition] = errNoResponse
	}
	request := kmsg.NewPtrProduceRequest()
	request.Acks, request.TimeoutMillis = acksAll, int32(produceRequestWait.Milliseconds())
	request.Topics = append(request.Topics, topic)
	response, err := t.producer.Broker(int(broker)).Request(ctx, request)
	if err != nil {
		for p := range results {
			results[p] = err
		}
		return results
	}
	c.health.recordResponse()
	for _, topic := range response.(*kmsg.ProduceResponse).Topics {
		for _, p := range topic.Partitions {
			results[p.Partition] = kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return results
}

// errNoResponse is the error of a partition that is missing in a broker's response.
var errNoResponse = errors.New("the broker's response does not contain a record batch that was sent")
