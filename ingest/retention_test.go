package ingest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/ingest/resolve"
)

// fakeRetention is a retention directory that counts its calls.
type fakeRetention struct {
	days    *int32
	sources map[uuid.UUID]int32
	fail    error
	calls   int
}

func (k *fakeRetention) Retention(context.Context, uuid.UUID) (*int32, map[uuid.UUID]int32, error) {
	k.calls++
	return k.days, k.sources, k.fail
}

// withRetention returns a pipeline with the given retention, and its stores.
func withRetention(k *fakeRetention) (*fakeStores, *Pipeline) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	deps := pipeline.deps.resolver()
	deps.Retention, deps.RetentionTTL = k, time.Minute
	pipeline.resolver = resolve.New(deps, pipeline.metrics.resolver)
	return p, pipeline
}

func TestPointsOlderThanTheirRetentionAreRejectedOneByOne(t *testing.T) {
	day := func(n int, also time.Duration) int64 { return received.AddDate(0, 0, -n).Add(also).UnixMicro() }
	p, pipeline := withRetention(&fakeRetention{days: new(int32(30)), sources: map[uuid.UUID]int32{boiler: 7, pump: 365}})
	result, err := pipeline.Accept(t.Context(), JSON, request(fmt.Sprintf(`{"precision":"us","metric":"m","points":[
		{"source":"boiler","timestamp":-1,"value":1},
		{"source":"boiler","timestamp":%d,"value":1},
		{"source":"boiler","timestamp":%d,"value":2},
		{"source":"boiler","timestamp":%d,"value":"three"},
		{"source":"pump","timestamp":%d,"value":4},
		{"source":"pump","timestamp":%d,"value":5},
		{"source":"boiler","timestamp":0,"value":6}]}`,
		day(7, 0), day(7, -time.Microsecond), day(8, 0), day(30, 0), day(31, 0))))
	require.NoError(t, err)
	require.Equal(t, 2, result.Accepted, "the oldest times within the retention of the source and of the workspace")
	require.Equal(t, []Rejection{
		{Index: 0, Field: "points[0].timestamp", Reason: rejection.TimeEarly.Text(), Count: 1},
		{Index: 2, Field: "points[2].timestamp", Reason: rejection.TimeExpired.Text(), Count: 4},
	}, result.Errors)
	require.Equal(t, map[string]any{
		pointName(boiler, "m", nil, day(7, 0)) + " n": 1.0, pointName(pump, "m", nil, day(30, 0)) + " n": 4.0,
	}, p.written(t))
}

func TestInColumnsAnOldPointIsNamedByItsPosition(t *testing.T) {
	p, pipeline := withRetention(&fakeRetention{sources: map[uuid.UUID]int32{boiler: 1}})
	now, old := received.UnixMicro(), received.AddDate(0, 0, -2).UnixMicro()
	result, err := pipeline.Accept(t.Context(), JSON, request(fmt.Sprintf(`{"precision":"us","metric":"m","series":[
		{"source":"pump","timestamps":[%[2]d],"values":[1]},
		{"source":"boiler","timestamps":[%[1]d,%[2]d,%[1]d],"values":[1,2,3],"tags":{"a":"b"}},
		{"source":"boiler","timestamps":[%[2]d,%[1]d,1],"values":["x",7,1e999]}]}`, now, old)))
	require.NoError(t, err)
	require.Equal(t, 4, result.Accepted)
	require.Equal(t, Rejection{
		Index: 1, Position: new(1), Field: "series[1].timestamps[1]", Reason: rejection.TimeExpired.Text(), Count: 2,
	},
		result.Errors[0])
	require.Len(t, p.written(t), 3)
}

func TestWhenAllIsTooOldNothingIsAcceptedAndNoSeriesRegistered(t *testing.T) {
	p, pipeline := withRetention(&fakeRetention{days: new(int32(36_500))})
	_, err := pipeline.Accept(t.Context(), JSON, request(row(`"value":1,"timestamp":0`)))
	require.NoError(t, err, "a century reaches beyond 1970")
	_, pipeline = withRetention(&fakeRetention{days: new(int32(1))})
	_, err = pipeline.Accept(t.Context(), JSON, request(row(`"value":1,"timestamp":0`)))
	_, field, reason := problem(t, err)
	require.Equal(t, "points[0].timestamp", field)
	require.Equal(t, rejection.TimeExpired.Text(), reason)
	require.Len(t, p.messages, 1)
}

func TestTheRetentionIsAskedForOnceAMomentAndAfterEachChange(t *testing.T) {
	k := &fakeRetention{days: new(int32(1))}
	_, pipeline := withRetention(k)
	body := row(`"value":1`)
	for range 3 {
		_, err := pipeline.Accept(t.Context(), JSON, request(body))
		require.NoError(t, err)
	}
	require.Equal(t, 1, k.calls)
	pipeline.SourcesChanged(workspace)
	k.fail = errors.New("down")
	_, err := pipeline.Accept(t.Context(), JSON, request(body))
	require.ErrorIs(t, err, k.fail)
	require.Equal(t, 2, k.calls)
}

func TestInLinesAnOldPointIsNamedByItsLine(t *testing.T) {
	p, pipeline := withRetention(&fakeRetention{sources: map[uuid.UUID]int32{boiler: 1}})
	now, old := received.UnixNano(), received.AddDate(0, 0, -2).UnixNano()
	result, err := pipeline.Accept(t.Context(), Lines, request(fmt.Sprintf(
		"boiler m=1 %[1]d\npump m=1 %[2]d\n# a comment\nboiler m=2,n=\"old\" %[2]d\nboiler m=3 %[1]d\n", now, old)))
	require.NoError(t, err)
	require.Equal(t, 3, result.Accepted)
	require.Len(t, result.Errors, 1)
	require.Equal(
		t, Rejection{Index: 3, Line: new(4), Field: "timestamp", Reason: rejection.TimeExpired.Text(), Count: 2},
		result.Errors[0],
	)
	require.Len(t, p.written(t), 2, "the two of the boiler have one time")
}
