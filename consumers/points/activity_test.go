package points

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
)

func TestActivityIsDueOncePerSecond(t *testing.T) {
	var a activity
	source, other := sourceID{Source: uuid.New()}, sourceID{Workspace: uuid.New()}
	require.True(t, a.due(source, hourStart))
	require.True(t, a.due(source, hourStart), "nothing was stored")
	a.add([]clickhouse.ActivityRow{{Source: source.Source, ReceivedAtUS: hourStart}})
	require.False(t, a.due(source, hourStart+aSecond-1))
	require.True(t, a.due(source, hourStart+aSecond))
	require.True(t, a.due(other, hourStart))
	a.add([]clickhouse.ActivityRow{{Source: source.Source, ReceivedAtUS: hourStart - aMinute}})
	require.False(t, a.due(source, hourStart), "an earlier time")
}

func TestRememberedActivityIsBounded(t *testing.T) {
	var a activity
	for range maxActiveSources + 1 {
		a.add([]clickhouse.ActivityRow{{Source: uuid.New(), ReceivedAtUS: hourStart}})
	}
	require.Len(t, a.stored, 1)
}
