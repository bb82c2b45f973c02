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
	"github.com/livegraph/livegraph/internal/platform/sleep"
)

// acksOfAll asks for the acknowledgement of all in-sync replicas.
const acksOfAll = -1

// leadersMaxAge is how old what is known of the partitions' leaders may be, as long as none
// of them refuses.
const leadersMaxAge = 30 * time.Second

// produceInOrder sends the records in pieces, each after the one before is
// acknowledged.
func (c *Client) produceInOrder(ctx context.Context, t *topic, records []kgo.Record) error {
	for len(records) > 0 {
		n := piece(records, t.buffered/2)
		if err := c.producePiece(ctx, t, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// What the encoding adds to a record and to a batch at most.
const (
	recordOverhead = 64
	batchRoom      = eventsBatchBytes - 1<<10
)

// piece returns how many of the records, at least one, fit into one batch for each
// partition and have at most so many bytes together.
func piece(records []kgo.Record, most int64) int {
	total, batches := int64(0), map[int32]int64{}
	for i := range records {
		r := &records[i]
		size := encodedBound(r)
		total += size
		batches[r.Partition] += size
		if i > 0 && (total > most || batches[r.Partition] > batchRoom || i >= maxBufferedRecords/2) {
			return i
		}
	}
	return len(records)
}

// encodedBound returns an upper bound of the bytes that a record takes in a batch.
func encodedBound(r *kgo.Record) int64 {
	size := int64(len(r.Key) + len(r.Value) + recordOverhead)
	for _, h := range r.Headers {
		size += int64(len(h.Key) + len(h.Value) + recordOverhead)
	}
	return size
}

// producePiece sends records, one batch for each partition, and waits until each is
// acknowledged or given up, which the produce timeout bounds.
func (c *Client) producePiece(ctx context.Context, t *topic, records []kgo.Record) error {
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
	defer t.sending(int64(len(records)), size)()
	sendCtx, cancel := context.WithTimeout(c.ctx, c.opts.ProduceTimeout)
	defer cancel()
	reason, err := "", c.sendBatches(sendCtx, t, batches)
	switch {
	case errors.Is(err, kerr.MessageTooLarge):
		reason, err = failedOther, fault.Wrap(err, fault.Internal, "A record is larger than the log takes")
	case errors.Is(sendCtx.Err(), context.DeadlineExceeded) && err != nil:
		reason, err = failedTimeout, errAway().Because(err)
	case err != nil:
		reason, err = failedOther, errAway().Because(err)
	}
	c.metrics.produced(t, len(records), size, began, reason)
	return err
}

// sendBatches sends each batch to the leader of its partition until it is acknowledged,
// refused for good, or ctx is done. The error is that of one that is not acknowledged.
func (c *Client) sendBatches(ctx context.Context, t *topic, left []batch) error {
	var err, refused error
	age := leadersMaxAge
	for tries := 0; ; tries++ {
		var final error
		if left, err, final = c.sendOnce(ctx, t, left, age); final != nil {
			refused = final
		}
		if len(left) == 0 {
			return refused
		}
		age = 0 // the least that the client allows
		if !sleep.For(ctx, backoff(tries)) {
			return errors.Join(refused, err, ctx.Err())
		}
	}
}

// sendOnce sends the batches once. It returns those to send again, with the reason, and an
// error of one that will never be in the log.
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
	for leader, theirs := range byLeader {
		requests.Go(func() {
			results := c.sendTo(ctx, leader, t, id, theirs)
			mu.Lock()
			defer mu.Unlock()
			for _, b := range theirs {
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

// leaders assigns the batches to the brokers that lead their partitions, and returns those
// without a leader, too.
func (c *Client) leaders(ctx context.Context, t *topic, batches []batch, age time.Duration) (
	id [16]byte, byLeader map[int32][]batch, without []batch, err error,
) {
	request := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = kmsg.StringPtr(t.name)
	request.Topics = append(request.Topics, asked)
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
			without = append(without, b)
		}
	}
	return id, byLeader, without, nil
}

// sendTo sends the batches to a broker in one request and returns the error of each partition.
// One that is no *kerr.Error leaves open whether the batch is in the log.
func (c *Client) sendTo(ctx context.Context, broker int32, t *topic, id [16]byte, batches []batch) map[int32]error {
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID = t.name, id
	results := make(map[int32]error, len(batches))
	for _, b := range batches {
		partition := kmsg.NewProduceRequestTopicPartition()
		partition.Partition, partition.Records = b.partition, b.encoded
		topic.Partitions = append(topic.Partitions, partition)
		results[b.partition] = errNoAnswer
	}
	request := kmsg.NewPtrProduceRequest()
	request.Acks, request.TimeoutMillis = acksOfAll, int32(produceRequestWait.Milliseconds())
	request.Topics = append(request.Topics, topic)
	answer, err := t.producer.Broker(int(broker)).Request(ctx, request)
	if err != nil {
		for p := range results {
			results[p] = err
		}
		return results
	}
	c.health.alive()
	for _, topic := range answer.(*kmsg.ProduceResponse).Topics {
		for _, p := range topic.Partitions {
			results[p.Partition] = kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return results
}

// errNoAnswer is of a partition that a broker's answer leaves out.
var errNoAnswer = errors.New("the broker's answer leaves out a record batch")
