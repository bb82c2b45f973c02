package stages

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// cpuProfile builds a profile of stacks, innermost function first, with a millisecond each.
func cpuProfile(stacks ...[]string) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{
		{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"},
	}}
	for _, stack := range stacks {
		s := &profile.Sample{Value: []int64{1, int64(time.Millisecond)}}
		for _, name := range stack {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
			l := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: f}}}
			p.Function, p.Location, s.Location = append(p.Function, f), append(p.Location, l), append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func TestSampleBelongsToInnermostStage(t *testing.T) {
	serve := []string{
		module + "ingest.(*Pipeline).Accept", module + "api/livedata.(*api).ingest", "net/http.(*conn).serve",
	}
	onServe := func(names ...string) []string { return append(names, serve...) }
	for stage, stack := range map[Stage][]string{
		HTTP:    onServe(),
		Parse:   onServe("runtime.memmove", module+"ingest/parse/jsonpoints.(*Parser).times", module+"ingest.(*work).parse"),
		Resolve: onServe("runtime.mapaccess2", module+"ingest/resolve.(*Resolver).Series"),
		Encode:  onServe(module+"schemas/pointblock.appendDeltas", module+"ingest/block.(*Batch).Encode"),
		Produce: onServe(
			franzGo+"kgo.(*Client).Produce", module+"storage/kafka.(*Client).send", module+"ingest.(*Pipeline).produce",
		)[1:],
		Log: {"internal/poll.(*FD).Write", franzGo + "kfake.(*clientConn).write"},
		Fetch: {
			module + "schemas/pointblock.Decode", module + "consumers/points.(*batch).Add", module + "consumers.(*session).fill",
		},
		Arrange: {
			module + "schemas/pointblock.(*Span).AppendTimestamps", module + "consumers/points.(*batch).arrange",
			module + "consumers/points.(*batch).Prepare",
		},
		Insert:    {"internal/poll.(*FD).Write", "net/http.(*persistConn).writeLoop"},
		Collector: onServe("runtime.gcAssistAlloc", "runtime.mallocgc", module+"ingest/parse/jsonpoints.(*Parser).Parse"),
		Scheduler: {"runtime.findRunnable", "runtime.schedule", "runtime.mcall"},
		Other:     {"time.Now", "main.main"},
	} {
		times, err := sumStages(cpuProfile(stack))
		require.NoError(t, err)
		require.Len(t, times, len(All))
		require.Equal(t, time.Millisecond, times[stage], "%s: %v", stage, times)
	}
}

func TestBelowCountsWhatAFunctionCalls(t *testing.T) {
	var encoded bytes.Buffer
	require.NoError(t, cpuProfile(
		[]string{"runtime.memmove", module + "consumers/links.(*Linker).link", "main.main"}, []string{"main.main"},
		[]string{module + "consumers/links.(*Linker).Run"}, []string{module + "consumers.Run"},
	).Write(&encoded))
	below, total, err := Below(&encoded, module+"consumers/links.")
	require.NoError(t, err)
	require.Equal(t, 2*time.Millisecond, below)
	require.Equal(t, 4*time.Millisecond, total)
	_, _, err = Below(bytes.NewReader([]byte("x")), "")
	require.Error(t, err)
}

func TestReadParsesProfile(t *testing.T) {
	var b bytes.Buffer
	require.NoError(
		t, cpuProfile(
			[]string{module + "ingest/parse/jsonpoints.(*Parser).Parse"},
			[]string{module + "ingest/parse/lineprotocol.(*Parser).Parse"},
		).Write(&b),
	)
	times, err := Read(&b)
	require.NoError(t, err)
	require.Equal(t, 2*time.Millisecond, times[Parse])
}

func TestOtherProfilesAreRejected(t *testing.T) {
	_, err := sumStages(&profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}})
	require.ErrorContains(t, err, "not a CPU profile")
	_, err = Read(bytes.NewReader([]byte("other")))
	require.Error(t, err)
}
