package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// StopFetching makes the client of a reader stop fetching, as if its fetch loop had been lost.
func (g *Group) StopFetching(partitions ...int32) { stopFetching(g.client, g.topic, partitions) }

// StopFetching makes the client of a reader stop fetching, as if its fetch loop had been lost.
func (t *Tail) StopFetching(partitions ...int32) { stopFetching(t.client, t.topic, partitions) }

// StopFetching makes the client of a reader stop fetching, as if its fetch loop had been lost.
func (a *Assignment) StopFetching(partitions ...int32) { stopFetching(a.client, a.topic, partitions) }

func stopFetching(client *kgo.Client, topic string, partitions []int32) {
	client.PauseFetchPartitions(map[string][]int32{topic: partitions})
}
