package stages

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// cpuProfile makes a profile of stacks, innermost first, a millisecond each.
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

func TestASampleIsOfTheInnermostStage(t *testing.T) {
	serve := []string{ours + "ingest.(*Pipeline).Accept", ours + "api/livedata.(*api).ingest", "net/http.(*conn).serve"}
	under := func(names ...string) []string { return append(names, serve...) }
	for stage, stack := range map[Stage][]string{
		HTTP:    under(),
		Parse:   under("runtime.memmove", ours+"ingest/parse/jsonpoints.(*Parser).times", ours+"ingest.(*work).parse"),
		Resolve: under("runtime.mapaccess2", ours+"ingest/resolve.(*Resolver).Series"),
		Encode:  under(ours+"schemas/pointblock.appendDeltas", ours+"ingest/block.(*Batch).Encode"),
		Produce: under(
			franzGo+"kgo.(*Client).Produce", ours+"storage/kafka.(*Client).send", ours+"ingest.(*Pipeline).produce",
		)[1:],
		Log: {"internal/poll.(*FD).Write", franzGo + "kfake.(*clientConn).write"},
		Fetch: {
			ours + "schemas/pointblock.Decode", ours + "consumers/points.(*batch).Add", ours + "consumers.(*session).fill",
		},
		Arrange: {
			ours + "schemas/pointblock.(*Span).AppendTimestamps", ours + "consumers/points.(*batch).arrange",
			ours + "consumers/points.(*batch).Prepare",
		},
		Insert:    {"internal/poll.(*FD).Write", "net/http.(*persistConn).writeLoop"},
		Collector: under("runtime.gcAssistAlloc", "runtime.mallocgc", ours+"ingest/parse/jsonpoints.(*Parser).Parse"),
		Scheduler: {"runtime.findRunnable", "runtime.schedule", "runtime.mcall"},
		Rest:      {"time.Now", "main.main"},
	} {
		times, err := of(cpuProfile(stack))
		require.NoError(t, err)
		require.Len(t, times, len(All))
		require.Equal(t, time.Millisecond, times[stage], "%s: %v", stage, times)
	}
}

func TestAWrittenProfileIsRead(t *testing.T) {
	var b bytes.Buffer
	require.NoError(
		t, cpuProfile(
			[]string{ours + "ingest/parse/jsonpoints.(*Parser).Parse"},
			[]string{ours + "ingest/parse/lineprotocol.(*Parser).Parse"},
		).Write(&b),
	)
	times, err := Read(&b)
	require.NoError(t, err)
	require.Equal(t, 2*time.Millisecond, times[Parse])
}

func TestWhatIsNoProfileOfCPUTimeIsRefused(t *testing.T) {
	_, err := of(&profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_space", Unit: "bytes"}}})
	require.ErrorContains(t, err, "none of CPU time")
	_, err = Read(bytes.NewReader([]byte("other")))
	require.Error(t, err)
}
