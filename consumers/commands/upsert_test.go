package commands_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/test/kafkatest"
)

func upsert(serial string) graph.UpsertNode {
	return graph.UpsertNode{
		ID: uuid.New(), Key: graph.NodeKey{EntityType: graph.Object, Property: "serial", Value: `"` + serial + `"`},
	}
}

// The records are in the log before the consumer starts, so that it decides them in one group.
func TestUpsertsOfOneGroupSeeEachOtherAndRepeatedRecordsHaveNoSecondEffect(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	var requests []*graphrecord.Request
	for i := range 20 {
		p := upsert("a")
		p.Properties = fmt.Appendf(nil, `{"n%d":1}`, i)
		r := f.request(graphrecord.Single, p)
		requests = append(requests, r)
		f.produce(r)
	}
	for _, r := range requests {
		f.produce(r)
	}
	f.consume()
	f.eventually("all are decided", func() bool { return f.stored(requests[19]) != nil })
	effects := map[string]int{}
	for _, r := range requests {
		effects[f.stored(r).GetResults()[0].GetEffect()]++
	}
	require.Equal(t, map[string]int{"created": 1, "updated": 19}, effects)
	f.do(upsert("b")) // the repeated records are decided, too
	require.Equal(t, 2, f.queryInt(`SELECT count(*) FROM nodes`))
	require.Equal(t, 21, f.queryInt(`SELECT count(*) FROM journal`))
	require.Equal(t, 20, f.queryInt(`SELECT max(version) FROM nodes`))
	require.Equal(t, 2, f.queryInt(`SELECT count(*) FROM node_keys`))
}

func TestTheFirstUpsertWithAPropertyInALargeWorkspaceIsDecidedSeparately(t *testing.T) {
	f := newFixture(t, kafkatest.NewKFake(t))
	f.config.CascadeEdges = 5
	f.consume()
	var nodes []graph.Payload
	for i := range 10 {
		n := node("n")
		n.Properties = fmt.Appendf(nil, `{"serial":"s%d"}`, i)
		nodes = append(nodes, n)
	}
	require.Nil(t, f.submit(f.request(graphrecord.Atomic, nodes...)).GetFailure())
	for range 2 {
		found := f.do(upsert("s7"))
		require.Equal(t, string(graph.Unchanged), found.GetEffect())
		id := nodes[7].(graph.CreateNode).ID
		require.Equal(t, id[:], found.GetNode().GetId())
	}
	require.Equal(t, 10, f.queryInt(`SELECT count(*) FROM node_keys`))
}
