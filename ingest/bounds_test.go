package ingest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/ingest/resolve"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// TestARequestAllocatesByRequestNotByPoint sends cached series. The remaining allocations are the
// result and the timer of the produce.
func TestARequestAllocatesByRequestNotByPoint(t *testing.T) {
	formats := map[string]Format{"remote write": RemoteWrite, "remote write, many samples": RemoteWrite, "NDJSON": NDJSON}
	for name, body := range map[string]string{
		"series":           benchSeries(100, 100),
		"rows":             benchRows(100, 100, true),
		"rows, one series": benchRows(1, 10_000, false),
		"strings": `{` + someSource + `,"metric":"m","series":[` +
			strings.TrimSuffix(strings.Repeat(`{"timestamps":[1,2,3],"values":["a","b\n",3]},`, 1000), ",") + `]}`,
		"remote write": benchRemoteWrite(2000, 1), "remote write, many samples": benchRemoteWrite(20, 100),
		"NDJSON": strings.Repeat(lineRow+"\n"+lineSeries+"\r\n", 1000),
		"rejections": `{` + someSource + `,"metric":"m","points":[{"value":1}` +
			strings.Repeat(`,{"value":1e400},{"value":1,"timestamp":-1}`, 1000) + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newFakeStores()
			p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) { return nil, nil }
			pipeline, req := p.pipeline(Limits{}), request(body)
			send := func() {
				if _, err := pipeline.Accept(context.Background(), formats[name], req); err != nil {
					t.Error(err)
				}
			}
			send()
			require.Less(t, testing.AllocsPerRun(20, send), 100.0)
		})
	}
}

// TestAbuseIsAnsweredQuickly sends bodies that are designed to be expensive.
func TestAbuseIsAnsweredQuickly(t *testing.T) {
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":""`, i)
		}
		return b.String()[1:]
	}
	for name, c := range map[string]struct {
		body string
		kind fault.Kind
	}{
		"a million keys":          {`{` + keys(1_000_000) + `}`, fault.Malformed},
		"a million keys of tags":  {row(`"value":1,"tags":{` + keys(1_000_000) + `}`), fault.Invalid},
		"a string of 30 MB":       {row(`"value":"` + strings.Repeat("x", 30<<20) + `"`), fault.Invalid},
		"a name of 30 MB":         {`{"` + strings.Repeat("x", 30<<20) + `":1}`, fault.Malformed},
		"escapes of 30 MB":        {row(`"metric":"m"`)[:50] + `"` + strings.Repeat(`\u0061`, 5<<20), fault.Malformed},
		"a number of 30 MB":       {row(`"value":` + strings.Repeat("1", 30<<20)), fault.Invalid},
		"a fraction of 30 MB":     {row(`"value":1.` + strings.Repeat("0", 30<<20)), fault.Internal},
		"brackets of 30 MB":       {strings.Repeat("[", 30<<20), fault.Malformed},
		"objects of 30 MB":        {strings.Repeat(`{"points":[`, 3<<20), fault.Malformed},
		"white space of 30 MB":    {strings.Repeat(" ", 30<<20), fault.Malformed},
		"a fault at the very end": {strings.TrimSuffix(benchSeries(1000, 1000), "}") + "]", fault.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, _, err := accept(t, c.body)
			require.Less(t, time.Since(start), 10*time.Second)
			if c.kind == fault.Internal {
				require.NoError(t, err)
				return
			}
			require.Equal(t, c.kind, fault.KindOf(err), "%.200s", fmt.Sprint(err))
			require.Less(t, len(err.Error()), 1000)
		})
	}
}

func TestManyNewSeriesAndUnknownSourcesAreAskedForInPortions(t *testing.T) {
	p := newFakeStores()
	p.maxSeries = 5000
	var b strings.Builder
	const n = 20_000
	for i := range n {
		fmt.Fprintf(
			&b,
			`,{%s,"metric":"m%d","value":1},{"sourceId":"%s","metric":"m","value":1},{"source":"s%d","metric":"m","value":1}`,
			someSource, i, uuid.New(), i,
		)
	}
	result, err := p.pipeline(Limits{}).Accept(t.Context(), JSON, request(`{"points":[`+b.String()[1:]+`]}`))
	require.NoError(t, err)
	require.Equal(t, 5000, result.Accepted)
	require.Equal(t, []Rejection{
		{Index: 1, Field: "points[1].sourceId", Reason: rejection.SourceUnknown.Text(), Count: 2 * n},
		{Index: 15_000, Field: "points[15000]", Reason: rejection.SeriesLimit.Text(), Count: n - 5000},
	}, result.Errors)
	require.Equal(t, n, p.registered)
	// Once at first, and again to distinguish deleted sources from the limit.
	require.Equal(t, 2*2*((n+resolve.MaxLookupBatch)/resolve.MaxLookupBatch), p.lookups)
}

// TestMemoryStaysBounded repeats large requests and checks the size of the heap.
func TestMemoryStaysBounded(t *testing.T) {
	p := newFakeStores()
	p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) { return nil, nil }
	pipeline, body := p.pipeline(Limits{}), benchSeries(100, 10_000)
	for range 10 {
		_, err := pipeline.Accept(t.Context(), JSON, request(body))
		require.NoError(t, err)
	}
	runtime.GC()
	runtime.GC() // twice, to empty the pool
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	require.Less(t, stats.HeapAlloc, uint64(200<<20))
}

// One request with a million new series: as many as the limit allows are registered, and the others
// are counted in one rejection.
func TestAMillionNewSeriesMeetTheLimit(t *testing.T) {
	p := newFakeStores()
	p.maxSeries = 1000
	const n = 1_000_000
	var b strings.Builder
	b.Grow(n * 20)
	for i := range n {
		fmt.Fprintf(&b, "boiler,i=%d m=1 1\n", i)
	}
	result, err := p.pipeline(Limits{}).Accept(t.Context(), Lines, request(b.String()))
	require.NoError(t, err)
	require.Equal(t, 1000, result.Accepted)
	require.Equal(t, n-1000, result.Rejected)
	require.LessOrEqual(t, len(result.Errors), 100)
}
