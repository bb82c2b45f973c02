package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

const oneBadOfTwo = `{` + someSource + `,"metric":"m","points":[{"value":1},{"value":1e400}]}`

func TestAStrictRequestIsAllOrNothing(t *testing.T) {
	p := newFakeStores()
	req := request(oneBadOfTwo)
	req.Strict = true
	_, err := p.pipeline(Limits{}).Accept(t.Context(), JSON, req)
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	require.Equal(t, fault.Invalid, fe.Kind)
	rejections := []Rejection{{Index: 1, Field: "points[1].value", Reason: rejection.ValueRange.Text(), Count: 1}}
	require.Equal(t, map[string]any{
		"field": "points[1].value", "reason": rejection.ValueRange.Text(), "accepted": 0, "rejected": 1, "errors": rejections,
	}, fe.Details)
	require.Empty(t, p.messages)
	require.Zero(t, p.registered, "no series are registered for a refused request")

	req.Strict = false
	result, err := p.pipeline(Limits{}).Accept(t.Context(), JSON, req)
	require.NoError(t, err)
	require.Equal(t, Result{Accepted: 1, Rejected: 1, Errors: rejections, Positions: result.Positions}, result)
	require.Len(t, p.messages, 1)
}

func TestAStrictRequestWithoutFaultIsAccepted(t *testing.T) {
	req := request(row(`"value":1`))
	req.Strict = true
	_, err := newFakeStores().pipeline(Limits{}).Accept(t.Context(), JSON, req)
	require.NoError(t, err)
}

func TestAnEmptyBatchIsReported(t *testing.T) {
	_, _, err := accept(t, `{"points":[]}`)
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	require.Equal(t, map[string]any{
		"field": "points", "reason": "must hold at least one point", "accepted": 0, "rejected": 0, "errors": []Rejection{},
	}, fe.Details)
}

func TestWhatCannotBeStoredAtTheSeriesLimitIsRejected(t *testing.T) {
	p := newFakeStores()
	p.maxSeries = 2
	pipeline := p.pipeline(Limits{})
	body := `{` + someSource + `,"points":[{"metric":"a","value":1},{"metric":"b","value":1},` +
		`{"metric":"c","value":1},{"metric":"c","value":"x"},{"metric":"c","value":2}]}`
	result, err := pipeline.Accept(t.Context(), JSON, request(body))
	require.NoError(t, err)
	require.Equal(t, 2, result.Accepted)
	require.Equal(
		t, []Rejection{{Index: 2, Field: "points[2]", Reason: rejection.SeriesLimit.Text(), Count: 3}}, result.Errors,
	)
	require.Len(t, p.written(t), 2)

	_, err = pipeline.Accept(t.Context(), JSON, request(
		`{`+someSource+`,"metric":"d","series":[{"timestamps":[1,2],"values":[1,2]}]}`,
	))
	_, field, reason := problem(t, err)
	require.Equal(t, "series[0]", field)
	require.Equal(t, rejection.SeriesLimit.Text(), reason)
}

func TestASourceDeletedWhileItsSeriesAreRegisteredIsUnknown(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	_, err := pipeline.Accept(t.Context(), JSON, request(row(`"value":1`)))
	require.NoError(t, err)
	delete(p.sources, boiler) // it is still cached
	_, err = pipeline.Accept(t.Context(), JSON, request(`{`+someSource+`,"metric":"new","points":[{"value":1}]}`))
	_, field, reason := problem(t, err)
	require.Equal(t, "sourceId", field)
	require.Equal(t, rejection.SourceUnknown.Text(), reason)
}

func TestASourceOfAnotherWorkspaceIsUnknown(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	_, err := pipeline.Accept(t.Context(), JSON, request(row(`"value":1`)))
	require.NoError(t, err)
	req := request(row(`"value":1`))
	req.Workspace = uuid.MustParse("0198a1b2-0000-7000-8000-000000000002")
	_, err = pipeline.Accept(t.Context(), JSON, req)
	_, _, reason := problem(t, err)
	require.Equal(t, rejection.SourceUnknown.Text(), reason)
}

func TestADeletedSourceIsRefusedWithinASecond(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	pipeline.setSourceTTL(20 * time.Millisecond)
	send := func() error {
		_, err := pipeline.Accept(t.Context(), JSON, request(
			`{"points":[{"source":"boiler","metric":"m","value":1},{`+someSource+`,"metric":"m","value":1}]}`,
		))
		return err
	}
	require.NoError(t, send())
	require.NoError(t, send())
	require.Equal(t, 2, p.lookups, "once by id and once by name, then cached")
	delete(p.sources, boiler)
	require.Eventually(t, func() bool { return fault.Is(send(), fault.Invalid) }, time.Minute, 5*time.Millisecond)
}

func TestAChangeOfThisProcessAppliesImmediately(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	_, err := pipeline.Accept(t.Context(), JSON, request(row(`"value":1`)))
	require.NoError(t, err)
	delete(p.sources, boiler)
	pipeline.SourcesChanged(workspace)
	_, err = pipeline.Accept(t.Context(), JSON, request(row(`"value":1`)))
	require.Error(t, err)
	p.sources[boiler] = "boiler"
	_, err = pipeline.Accept(t.Context(), JSON, request(row(`"value":1`)))
	require.NoError(t, err, "unknown sources are not cached")
}

// TestALookUpThatBeganBeforeADeletionIsNotRememberedAfterIt checks that the result of a store read
// that began before a deletion and ended after it is not cached.
func TestALookUpThatBeganBeforeADeletionIsNotRememberedAfterIt(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	send := func() {
		_, err := pipeline.Accept(t.Context(), Lines, request("boiler temperature=1 1764028800000000000"))
		require.NoError(t, err)
	}
	send()
	pipeline.SourcesChanged(workspace)
	p.afterLookup = func() {
		p.afterLookup = nil
		delete(p.sources, boiler)
		pipeline.SourcesChanged(workspace)
	}
	send() // it began before the deletion: both results are correct
	p.messages = nil
	send()
	require.Len(t, p.messages, 1)
	var r pointblock.Record
	require.NoError(t, pointblock.Decode(p.messages[0].Value, &r))
	require.NotEqual(t, boiler, r.Spans[0].Source, "the points would be void")
	require.Contains(t, p.created, "boiler")
}

func TestSeriesAreRegisteredOnce(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	for range 3 {
		_, err := pipeline.Accept(t.Context(), JSON, request(col(`"timestamps":[1,2],"values":[1,"x"]`)))
		require.NoError(t, err)
	}
	require.Equal(t, 2, p.registered)
}

func TestTheRegistrysIdIsUsedWhenTheFingerprintsIsTaken(t *testing.T) {
	p := newFakeStores()
	p.idOffset = 1
	pipeline := p.pipeline(Limits{})
	for range 2 { // registered, then cached
		_, err := pipeline.Accept(t.Context(), JSON, request(row(`"value":1`)))
		require.NoError(t, err)
	}
	for _, m := range p.messages {
		var r pointblock.Record
		require.NoError(t, pointblock.Decode(m.Value, &r))
		require.Equal(t, r.Spans[0].Fingerprint.SeriesID()+1, r.Spans[0].SeriesID)
	}
}

func TestIdentitiesInTheRegistryOutliveTheBody(t *testing.T) {
	p := newFakeStores()
	body := []byte(row(`"value":1,"tags":{"hall":"three"}`))
	req := request("")
	req.Body = body
	_, err := p.pipeline(Limits{}).Accept(t.Context(), JSON, req)
	require.NoError(t, err)
	clear(body)
	for _, id := range p.series {
		require.Equal(t, "m", id.Metric)
		require.Equal(t, []pointblock.Tag{{Key: "hall", Value: "three"}}, id.Tags)
	}
}

func TestOverloadIsRefusedAtOnceAndLeavesNothingBehind(t *testing.T) {
	p := newFakeStores()
	body := row(`"value":1`)
	entered, leave := make(chan struct{}), make(chan struct{})
	p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) {
		entered <- struct{}{}
		<-leave
		return []pointblock.Position{{}}, nil
	}
	pipeline := p.pipeline(Limits{InFlightBytes: int64(len(body)) + bytesPerPoint + 10})
	var first sync.WaitGroup
	first.Go(func() {
		_, err := pipeline.Accept(context.Background(), JSON, request(body))
		require.NoError(t, err)
	})
	<-entered
	start := time.Now()
	_, err := pipeline.Accept(t.Context(), JSON, request(body))
	require.Less(t, time.Since(start), time.Minute)
	var fe *fault.Error
	require.ErrorAs(t, err, &fe)
	require.Equal(t, fault.Unavailable, fe.Kind)
	require.Positive(t, fe.RetryAfter)
	close(leave)
	first.Wait()
	require.Zero(t, pipeline.inFlight.Used())
}

func TestARequestLargerThanTheGatePassesAlone(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{InFlightBytes: 10})
	_, err := pipeline.Accept(t.Context(), JSON, request(row(`"value":1`)))
	require.NoError(t, err)
	require.Zero(t, pipeline.inFlight.Used())
}

func TestAPartlyFailedProduceIsReported(t *testing.T) {
	acked := []pointblock.Position{{Partition: 1, Offset: 5}}
	down := fault.New(fault.Unavailable, "Kafka is not reachable").After(3 * time.Second)
	for name, c := range map[string]struct {
		positions []pointblock.Position
		err       error
		partial   any
		after     time.Duration
		message   string
	}{
		"some written": {acked, down, true, 3 * time.Second, "Kafka is not reachable"},
		"none written": {nil, down, nil, 3 * time.Second, "Kafka is not reachable"},
		"unclassified": {
			acked, errors.New("boom"), true, time.Second, "Not all points could be written to the log; send them again",
		},
		"wrapped": {nil, fmt.Errorf("producing: %w", down), nil, 3 * time.Second, "Kafka is not reachable"},
		"deadline": {
			nil, context.DeadlineExceeded, nil, time.Second, "Not all points could be written to the log; send them again",
		},
		"no Retry-After": {nil, fault.New(fault.Unavailable, "No"), nil, time.Second, "No"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFakeStores()
			p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) { return c.positions, c.err }
			result, err := p.pipeline(Limits{}).Accept(t.Context(), JSON, request(row(`"value":1`)))
			var fe *fault.Error
			require.ErrorAs(t, err, &fe)
			require.Equal(t, fault.Unavailable, fe.Kind)
			require.Equal(t, c.after, fe.RetryAfter)
			require.Equal(t, c.message, fe.Message)
			require.Equal(t, c.partial, fe.Details["partial"])
			require.Equal(t, c.positions, result.Positions, "a checkpoint can contain the written records")
			require.Nil(t, down.Details, "the wrapped error is not changed")
		})
	}
}

func TestTheWaitForTheLogIsBounded(t *testing.T) {
	p := newFakeStores()
	p.produce = func(ctx context.Context, _ []pointblock.Message) ([]pointblock.Position, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, err := p.pipeline(Limits{
		ProduceTimeout: 10 * time.Millisecond,
	}).Accept(t.Context(), JSON, request(row(`"value":1`)))
	require.True(t, fault.Is(err, fault.Unavailable))
}

func TestAStoreThatIsDownFailsTheRequest(t *testing.T) {
	down := fault.New(fault.Unavailable, "The registry is down")
	for name, fail := range map[string]func(*fakeStores){
		"sources":  func(p *fakeStores) { p.failSources = down },
		"registry": func(p *fakeStores) { p.failRegistry = down },
	} {
		t.Run(name, func(t *testing.T) {
			p := newFakeStores()
			fail(p)
			pipeline := p.pipeline(Limits{})
			_, err := pipeline.Accept(t.Context(), JSON, request(row(`"value":1`)))
			require.ErrorIs(t, err, down)
			require.Empty(t, p.messages)
			require.Zero(t, pipeline.inFlight.Used())
		})
	}
}

func TestARequestOverManySourcesIsSplitByPartition(t *testing.T) {
	p := newFakeStores()
	var series []string
	for range 100 {
		id := uuid.New()
		p.sources[id] = id.String()
		series = append(series, fmt.Sprintf(`{"sourceId":"%s","metric":"m","timestamps":[1,2],"values":[1,2]}`, id))
	}
	result, err := p.pipeline(Limits{}).Accept(t.Context(), JSON, request(`{"series":[`+strings.Join(series, ",")+`]}`))
	require.NoError(t, err)
	require.Len(t, p.messages, 8, "one record per partition")
	require.Len(t, result.Positions, 8)
	require.Len(t, p.written(t), 200)
	require.Equal(t, "req_1", p.requests[0])
}

func TestDefaultsCannotBlowARequestUp(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, `{%s,"metric":"m","tags":{`, someSource)
	for i := range 60 {
		fmt.Fprintf(&b, `"t%d":"%s",`, i, strings.Repeat("x", 1000))
	}
	b.WriteString(`"z":""},"points":[`)
	for i := range 5000 {
		fmt.Fprintf(&b, `{"value":1,"tags":{"i":"%d"}},`, i)
	}
	_, _, err := accept(t, strings.TrimSuffix(b.String(), ",")+"]}")
	require.True(t, fault.Is(err, fault.TooLarge))
}

func TestRequestsAtTheSameTimeDoNotMix(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 100 {
				body := fmt.Sprintf(
					`{%s,"metric":"m%d","tags":{"a":"\u0041%d"},`+
						`"points":[{"timestamp":%d,"value":%d},{"timestamp":%d,"value":"w%d"},{"value":1e400}]}`,
					someSource, worker, worker, i, worker*1000+i, i, worker,
				)
				result, err := pipeline.Accept(context.Background(), JSON, request(body))
				if err != nil || result.Accepted != 2 || result.Rejected != 1 {
					t.Errorf("%+v %v", result, err)
				}
			}
		})
	}
	all.Wait()
	points := p.written(t)
	require.Len(t, points, 8*100*2)
	for worker := range 8 {
		for i := range 100 {
			name := fmt.Sprintf(`%s "m%d"{"a"="A%d",} %d`, boiler, worker, worker, i*1000)
			require.Equal(t, float64(worker*1000+i), points[name+" n"])
			require.Equal(t, fmt.Sprintf("w%d", worker), points[name+" s"])
		}
	}
}
