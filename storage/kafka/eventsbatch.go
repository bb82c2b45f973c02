package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka/recordbatch"
)

// batch is the encoded record batch of a partition. A broker appends it completely or not at all.
type batch struct {
	partition int32
	encoded   []byte
}

// batches encodes records as one batch per partition and keeps their order.
func (c *Client) batches(records []kgo.Record) ([]batch, error) {
	byPartition := map[int32][]*kgo.Record{}
	var order []int32
	for i := range records {
		p := records[i].Partition
		if byPartition[p] == nil {
			order = append(order, p)
		}
		byPartition[p] = append(byPartition[p], &records[i])
	}
	now := time.Now().UnixMilli()
	out := make([]batch, 0, len(order))
	for _, p := range order {
		encoded, err := recordbatch.Encode(byPartition[p], now, c.compressor)
		if err != nil {
			return nil, err
		}
		out = append(out, batch{p, encoded})
	}
	return out, nil
}
