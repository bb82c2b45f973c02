package pipelineadmin

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
)

// FuzzContent checks that the content of any dead letter can be shown.
func FuzzContent(f *testing.F) {
	topics := []string{kafka.TopicPoints, kafka.TopicCommands, kafka.TopicEvents, kafka.TopicAudit, "unknown"}
	source := uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")
	f.Add(uint8(0), pointblock.EncodeDeletions(source, 1, []pointblock.Deletion{
		{Source: source, Metric: "m", HasMetric: true, FromUS: 1, HasFrom: true},
	}))
	command, err := graphrecord.EncodeRequest(&graphrecord.Request{Mode: graphrecord.Single, Actions: []graph.Action{
		{Payload: graph.DeleteNode{ID: source}},
	}})
	require.NoError(f, err)
	f.Add(uint8(1), command)
	malformed, err := graphrecord.EncodeRequest(&graphrecord.Request{
		Mode: graphrecord.Atomic, Origin: graph.Origin{AcceptedAt: time.UnixMicro(1 << 62)},
		Actions: []graph.Action{{Payload: graph.CreateNode{Name: "a", Properties: jsontext.Value("{\xff")}}},
	})
	require.NoError(f, err)
	f.Add(uint8(1), malformed)
	f.Add(uint8(0), pointblock.EncodeDeletions(source, 1<<62, nil))
	audit, err := auditrecord.Encode(&auditrecord.Record{RequestID: "req_1"})
	require.NoError(f, err)
	f.Add(uint8(3), audit)
	f.Add(uint8(2), []byte{})
	f.Add(uint8(4), []byte("x"))
	f.Fuzz(func(t *testing.T, topic uint8, value []byte) {
		c := contentOf(topics[int(topic)%len(topics)], value)
		require.NotEmpty(t, c.summary())
		_ = c.workspace()
		_, err := json.Marshal(c.decode())
		require.NoError(t, err)
	})
}

// FuzzParsePlace checks that a reference survives formatting and parsing.
func FuzzParsePlace(f *testing.F) {
	for _, text := range []string{"points.dlq/3/17", "", "//", "a/0/0/0", "a/-1/0", "a/0/9223372036854775808", "a/+1/01"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if ref, err := ParseRecordRef(text); err == nil {
			again, err := ParseRecordRef(ref.String())
			require.NoError(t, err)
			require.Equal(t, ref, again)
		}
	})
}
