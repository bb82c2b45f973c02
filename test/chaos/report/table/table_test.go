package table_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/report/table"
)

const log = `{"begin":{"seed":7,"commit":"abc","at":"2026-11-22T07:00:00Z","kafka":"embedded","embedder":true,` +
	`"disks":true,"perRound":6,"kinds":3}}
{"round":{"round":1,"seed":7,"faults":[{"kind":"kill/api","at":1,"lasted":2}],` +
	`"loadMs":1,"settleMs":1,"checkMs":1,"vitals":null,"violations":[]}}
{"summary":{"rounds":1,"faults":3,"missed":0,"byKind":{"kill/api":2,"kill/points":1},"kills":3,` +
	`"settlings":1,"settleP50Ms":1500,"settleMaxMs":2500,"seconds":61,"violations":0}}
`

func TestLogsAreAddedUp(t *testing.T) {
	text, err := table.Build(fstest.MapFS{"1.ndjson": {Data: []byte(log)}, "2.ndjson": {Data: []byte(log)}})
	require.NoError(t, err)
	require.Contains(t, text, "| embedded | 2 | 2026-11-22 | 2026-11-22 | 6 | 2 | 6 | 2 | 2.5 s | 2m2s | 0 |\n")
	require.Contains(t, text, "All in all 6 faults of 2 kinds, 6 of them kills, in 2 rounds that settled; 0 violations.")
	require.Contains(t, text, "| kill | 6 | api 4, points 2 |\n")
}

func TestRunsOnShardsHaveARowOfTheirOwn(t *testing.T) {
	sharded := strings.Replace(log, `"kafka":"embedded"`, `"kafka":"embedded","shards":2`, 1)
	text, err := table.Build(fstest.MapFS{"1.ndjson": {Data: []byte(log)}, "2.ndjson": {Data: []byte(sharded)}})
	require.NoError(t, err)
	require.Contains(t, text, "| embedded | 1 |")
	require.Contains(t, text, "| embedded, 2 shards of ClickHouse | 1 |")
}

func TestALogThatWasCutOffIsRefused(t *testing.T) {
	_, err := table.Build(fstest.MapFS{"1.ndjson": {Data: []byte(log[:200])}})
	require.ErrorContains(t, err, "1.ndjson")
}

// TestThePageHasTheRunsThatAreRecorded compares docs/reliability.md with the recorded logs.
func TestThePageHasTheRunsThatAreRecorded(t *testing.T) {
	text, err := table.Build(os.DirFS("../../runs"))
	require.NoError(t, err)
	page, err := os.ReadFile("../../../../docs/reliability.md")
	require.NoError(t, err)
	updated, err := table.Insert(string(page), text)
	require.NoError(t, err)
	require.Equal(t, updated, string(page), "make chaos-report")
}
