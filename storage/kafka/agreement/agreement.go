// Package agreement checks that the brokers of a cluster have the same view of a topic.
package agreement

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// Require returns an error unless all brokers of the cluster respond, and agree on the id, the leaders and the leader
// epochs of a topic. A leader that was replaced then knows it.
func Require(ctx context.Context, client *kgo.Client, topic string) error {
	brokers, err := kadm.NewClient(client).BrokerMetadata(ctx)
	if err != nil {
		return fmt.Errorf("reading the brokers: %w", err)
	}
	views := make([]*kmsg.MetadataResponse, len(brokers.Brokers))
	var group errgroup.Group
	for i, b := range brokers.Brokers {
		group.Go(func() error {
			var err error
			if views[i], err = viewOf(ctx, client, b.NodeID, topic); err != nil {
				return fmt.Errorf("asking broker %d for its metadata: %w", b.NodeID, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if len(views) == 0 || !agree(views) {
		return errors.New("the brokers do not agree")
	}
	return nil
}

// viewOf returns the metadata that one broker has of a topic.
func viewOf(ctx context.Context, client *kgo.Client, broker int32, topic string) (*kmsg.MetadataResponse, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.AllowAutoTopicCreation = false
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = kmsg.StringPtr(topic)
	request.Topics = append(request.Topics, asked)
	response, err := client.Broker(int(broker)).RetriableRequest(ctx, request)
	if err != nil {
		return nil, err
	}
	view := response.(*kmsg.MetadataResponse)
	if len(view.Topics) != 1 {
		return nil, kerr.UnknownTopicOrPartition
	}
	return view, kerr.ErrorForCode(view.Topics[0].ErrorCode)
}

// leader is the leader of a partition in a leader epoch.
type leader struct{ broker, epoch int32 }

// agree reports whether views of one topic have the same brokers, topic id, leaders and leader epochs.
func agree(views []*kmsg.MetadataResponse) bool {
	for _, view := range views {
		if len(view.Brokers) != len(views) || view.Topics[0].TopicID != views[0].Topics[0].TopicID {
			return false
		}
	}
	known := leadersOf(views[0])
	for _, view := range views[1:] {
		if !maps.Equal(known, leadersOf(view)) {
			return false
		}
	}
	return true
}

func leadersOf(view *kmsg.MetadataResponse) map[int32]leader {
	leaders := map[int32]leader{}
	for i := range view.Topics[0].Partitions {
		p := &view.Topics[0].Partitions[i]
		leaders[p.Partition] = leader{broker: p.Leader, epoch: p.LeaderEpoch}
	}
	return leaders
}
