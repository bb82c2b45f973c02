package ingest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/livegraph/livegraph/internal/fault"
)

// message is a protobuf message that is being written; what is added to it leaves
// it as it was.
type message []byte

func (m message) bytes(field protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(slices.Clip(m), field, protowire.BytesType), b)
}

func (m message) text(field protowire.Number, s string) message { return m.bytes(field, []byte(s)) }

func (m message) varint(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(slices.Clip(m), field, protowire.VarintType), v)
}

func (m message) double(field protowire.Number, v float64) message {
	return protowire.AppendFixed64(protowire.AppendTag(slices.Clip(m), field, protowire.Fixed64Type), math.Float64bits(v))
}

// promLabels writes labels given as names and values by turns.
func promLabels(of ...string) (series message) {
	for i := 0; i < len(of); i += 2 {
		series = series.bytes(1, message{}.text(1, of[i]).text(2, of[i+1]))
	}
	return series
}

// sample adds a sample to a series.
func (m message) sample(ms int64, value float64) message {
	return m.bytes(2, message{}.double(1, value).varint(2, uint64(ms)))
}

// promWrite writes a request of these series.
func promWrite(series ...message) string {
	var request message
	for _, s := range series {
		request = request.bytes(1, s)
	}
	return string(request)
}

// plain gives the labels that most tests have, and those given.
func plain(more ...string) message {
	return promLabels(append([]string{"__name__", "up", "instance", "a:1", "job", "node"}, more...)...)
}

var (
	nodeSource = uuid.NewSHA1(workspace, []byte("node/a:1"))
	stale      = math.Float64frombits(staleMarker)
)

func TestSamplesOfPrometheusAreTaken(t *testing.T) {
	in := func(source, rest string) string { return uuid.NewSHA1(workspace, []byte(source)).String() + " " + rest }
	for name, c := range map[string]struct {
		body string
		want map[string]any
	}{
		"a sample":           {promWrite(plain().sample(1795246808123, 1.5)), map[string]any{in("node/a:1", `"up"{} 1795246808123000 n`): 1.5}},
		"many":               {promWrite(plain().sample(1, 1).sample(2, -2).sample(1, 3)), map[string]any{in("node/a:1", `"up"{} 1000 n`): 3.0, in("node/a:1", `"up"{} 2000 n`): -2.0}},
		"tags":               {promWrite(plain("mode", "idle", "zone", "é").sample(1, 1)), map[string]any{in("node/a:1", `"up"{"mode"="idle","zone"="é",} 1000 n`): 1.0}},
		"labels in disorder": {promWrite(promLabels("zone", "z", "job", "node", "__name__", "up", "mode", "m", "instance", "a:1").sample(1, 1)), map[string]any{in("node/a:1", `"up"{"mode"="m","zone"="z",} 1000 n`): 1.0}},
		"empty is absent":    {promWrite(plain("mode", "").sample(1, 1)), map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0}},
		"no job":             {promWrite(promLabels("__name__", "up", "instance", "a:1").sample(1, 1)), map[string]any{in("a:1", `"up"{} 1000 n`): 1.0}},
		"no instance":        {promWrite(promLabels("__name__", "up", "job", "node").sample(1, 1)), map[string]any{in("node", `"up"{} 1000 n`): 1.0}},
		"neither":            {promWrite(promLabels("__name__", "ALERTS", "alertname", "x").sample(1, 1)), map[string]any{in("prometheus", `"ALERTS"{"alertname"="x",} 1000 n`): 1.0}},
		"zeros left out":     {promWrite(plain().bytes(2, nil)), map[string]any{in("node/a:1", `"up"{} 0 n`): 0.0}},
		"time before value":  {promWrite(plain().bytes(2, message{}.varint(2, 7).double(1, 5))), map[string]any{in("node/a:1", `"up"{} 7000 n`): 5.0}},
		"fields twice":       {promWrite(plain().bytes(2, message{}.double(1, 4).varint(2, 6).varint(2, 7).double(1, 5))), map[string]any{in("node/a:1", `"up"{} 7000 n`): 5.0}},
		"samples before labels": {promWrite(append(message{}.sample(1, 1), plain("mode", "idle").sample(2, 2)...)),
			map[string]any{in("node/a:1", `"up"{"mode"="idle",} 1000 n`): 1.0, in("node/a:1", `"up"{"mode"="idle",} 2000 n`): 2.0}},
		"series by turns": {promWrite(plain("a", "1").sample(2, 1), plain("a", "2").sample(2, 2), plain("a", "1").sample(1, 3)),
			map[string]any{in("node/a:1", `"up"{"a"="1",} 1000 n`): 3.0, in("node/a:1", `"up"{"a"="1",} 2000 n`): 1.0, in("node/a:1", `"up"{"a"="2",} 2000 n`): 2.0}},
		"the same in another order": {promWrite(plain("a", "1", "b", "2").sample(1, 1), plain("b", "2", "a", "1").sample(1, 2)), map[string]any{in("node/a:1", `"up"{"a"="1","b"="2",} 1000 n`): 2.0}},
		"targets by turns": {promWrite(plain().sample(1, 1), promLabels("__name__", "up", "instance", "b:1", "job", "node").sample(1, 2), plain().sample(2, 3)),
			map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0, in("node/b:1", `"up"{} 1000 n`): 2.0, in("node/a:1", `"up"{} 2000 n`): 3.0}},
		"ten years old":  {promWrite(plain().sample(received.AddDate(-10, 0, 0).UnixMilli(), 1)), map[string]any{in("node/a:1", fmt.Sprintf(`"up"{} %d n`, received.AddDate(-10, 0, 0).UnixMilli()*1000)): 1.0}},
		"stale marker":   {promWrite(plain().sample(1, 1).sample(2, stale)), map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0}},
		"exemplars":      {promWrite(plain().sample(1, 1).bytes(3, message{}.double(2, 1))), map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0}},
		"metadata":       {promWrite(plain().sample(1, 1)) + string(message{}.bytes(3, message{}.varint(1, 1).text(2, "up"))), map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0}},
		"unknown fields": {string(message{}.varint(2, 1).bytes(100, []byte("x"))) + promWrite(plain().varint(9, 1).sample(1, 1).double(10, 1)), map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0}},
		"nothing":        {promWrite(), map[string]any{}},
		"metadata only":  {string(message{}.bytes(3, message{}.varint(1, 1).text(2, "up"))), map[string]any{}},
		"stale only":     {promWrite(plain().sample(1, stale)), map[string]any{}},
		"no samples":     {promWrite(plain(), message{}), map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			p, result, err := acceptAs(t, RemoteWrite, c.body)
			require.NoError(t, err)
			require.Zero(t, result.Rejected, "%+v", result.Errors)
			require.NotNil(t, result.Errors)
			require.Equal(t, c.want, p.written(t))
		})
	}
}

func TestSamplesThatBreakARuleAreRejected(t *testing.T) {
	long := strings.Repeat("x", 300)
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("t%02d", i), "v")
	}
	for name, c := range map[string]struct {
		series message
		field  string
		why    reason
		n      int
	}{
		"NaN":                    {plain().sample(1, 1).sample(2, math.NaN()).sample(3, math.NaN()), "timeseries[1].samples[1].value", valueNotFinite, 2},
		"infinite":               {plain().sample(1, math.Inf(1)).sample(2, math.Inf(-1)), "timeseries[1].samples[0].value", valueNotFinite, 2},
		"after stale markers":    {plain().sample(1, stale).sample(2, 1).sample(3, stale).sample(4, stale).sample(5, math.Inf(1)), "timeseries[1].samples[4].value", valueNotFinite, 1},
		"before 1970":            {plain().sample(-1, 1), "timeseries[1].samples[0].timestamp", timeEarly, 1},
		"long before":            {plain().sample(math.MinInt64, 1), "timeseries[1].samples[0].timestamp", timeEarly, 1},
		"a day ahead":            {plain().sample(received.UnixMilli()+86_400_001, 1), "timeseries[1].samples[0].timestamp", timeLate, 1},
		"at the end of time":     {plain().sample(math.MaxInt64, 1), "timeseries[1].samples[0].timestamp", timeLate, 1},
		"in microseconds":        {plain().sample(received.UnixMicro(), 1), "timeseries[1].samples[0].timestamp", timeLate, 1},
		"no name":                {promLabels("job", "node", "instance", "a:1").sample(1, 1).sample(2, 2), "timeseries[1].labels.__name__", metricEmpty, 2},
		"no labels":              {message{}.sample(1, 1), "timeseries[1].labels.__name__", metricEmpty, 1},
		"empty name":             {promLabels("__name__", "", "job", "node").sample(1, 1), "timeseries[1].labels.__name__", metricEmpty, 1},
		"long name":              {promLabels("__name__", long, "job", "node").sample(1, 1), "timeseries[1].labels.__name__", metricLong, 1},
		"NUL in the name":        {promLabels("__name__", "a\x00", "job", "node").sample(1, 1), "timeseries[1].labels.__name__", metricNUL, 1},
		"name twice":             {plain("__name__", "down").sample(1, 1), "timeseries[1].labels.__name__", tagTwice, 1},
		"job twice":              {plain("job", "other").sample(1, 1), "timeseries[1].labels.job", tagTwice, 1},
		"instance twice":         {plain("instance", "other").sample(1, 1), "timeseries[1].labels.instance", tagTwice, 1},
		"label twice":            {plain("a", "1", "b", "1", "a", "2").sample(1, 1), "timeseries[1].labels.a", tagTwice, 1},
		"label twice, same":      {plain("a", "1", "a", "1").sample(1, 1), "timeseries[1].labels.a", tagTwice, 1},
		"label without a name":   {plain("", "1").sample(1, 1), `timeseries[1].labels[""]`, tagEmpty, 1},
		"long label":             {plain(long, "1").sample(1, 1), "timeseries[1].labels." + long[:100] + "…", tagLong, 1},
		"long value":             {plain("a", strings.Repeat("x", 1025)).sample(1, 1), "timeseries[1].labels.a", tagValueLong, 1},
		"NUL in a value":         {plain("a", "\x00").sample(1, 1), "timeseries[1].labels.a", tagValueNUL, 1},
		"NUL in a label's name":  {plain("\x00", "a").sample(1, 1), `timeseries[1].labels["\u0000"]`, tagNUL, 1},
		"name not UTF-8":         {promLabels("__name__", "\xff", "job", "node").sample(1, 1), "timeseries[1].labels.__name__", metricUTF8, 1},
		"value not UTF-8":        {plain("a", "\xff").sample(1, 1), "timeseries[1].labels.a", tagUTF8, 1},
		"label's name not UTF-8": {plain("b\xff", "1").sample(1, 1), "timeseries[1].labels.b\ufffd", tagUTF8, 1},
		"65 labels":              {plain(many...).sample(1, 1), "timeseries[1].labels", tagsMany, 1},
		"job not UTF-8":          {promLabels("__name__", "up", "job", "\xff").sample(1, 1), "timeseries[1].labels.job", sourceName, 1},
		"job and instance long":  {promLabels("__name__", "up", "job", long[:200], "instance", long[:56]).sample(1, 1), "timeseries[1].labels.job", sourceName, 1},
		"job with a line break":  {promLabels("__name__", "up", "job", "a\nb").sample(1, 1), "timeseries[1].labels.job", sourceName, 1},
		"histogram":              {plain().bytes(4, message{}.double(3, 1)).bytes(4, nil), "timeseries[1].histograms[0]", valueHistogram, 2},
		"histogram and sample":   {plain().sample(1, 1).bytes(4, message{}.double(3, 1)), "timeseries[1].histograms[0]", valueHistogram, 1},
	} {
		t.Run(name, func(t *testing.T) {
			good := plain("good", "yes")
			_, result, err := acceptAs(t, RemoteWrite, promWrite(good.sample(1, 1), c.series, good.sample(2, 2)))
			require.NoError(t, err)
			require.Equal(t, c.n, result.Rejected, "%+v", result.Errors)
			require.Len(t, result.Errors, 1)
			require.Equal(t, []any{1, c.field, reasonText[c.why]}, []any{result.Errors[0].Index, result.Errors[0].Field, result.Errors[0].Reason})
			require.Nil(t, result.Errors[0].Line)
			require.GreaterOrEqual(t, result.Accepted, 2)
		})
	}
}

func TestWhatIsNoRemoteWriteIsRefused(t *testing.T) {
	good := promWrite(plain().sample(1, 1))
	for name, body := range map[string]string{
		"text": "hello", "JSON": `{"points":[]}`, "cut off": good[:len(good)-1], "cut off in a label": good[:10], "a length beyond the end": "\x0a\xff\xff\xff\xff\x0f",
		"a length beyond 2^64": "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "field 0": good + "\x00\x00", "a group": good + "\x13\x14", "wire type 7": good + "\x0f", "a tag in too many bytes": "\x8a\x00\x00",
		"a varint without end": good + "\x10" + strings.Repeat("\xff", 11), "a label cut off": promWrite(message{}.bytes(1, []byte{0x0a, 5, 'a'}).sample(1, 1)),
		"a label of nonsense": promWrite(plain().bytes(1, []byte{0x0f}).sample(1, 1)), "a sample cut off": promWrite(plain().bytes(2, []byte{0x09, 1, 2})), "a time without end": promWrite(plain().bytes(2, []byte{0x10, 0xff})),
		"a time of 11 bytes": promWrite(plain().bytes(2, append(message{}.double(1, 1), "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"...))), "a fixed32 cut off": good + "\x15\x00", "a fixed64 cut off": good + "\x11\x00",
		"snappy": "\x05\x10hello",
	} {
		p, _, err := acceptAs(t, RemoteWrite, body)
		require.Error(t, err, name)
		kind, field, _ := problem(t, err)
		require.Equal(t, []any{fault.Malformed, "body"}, []any{kind, field}, name)
		require.Empty(t, p.messages)
	}
	for _, v2 := range []message{message{}.text(4, ""), message{}.text(4, "").text(4, "up").bytes(5, message{}.bytes(1, []byte{0, 1}).sample(1, 1)), message{}.bytes(5, nil)} {
		_, _, err := acceptAs(t, RemoteWrite, string(v2))
		kind, field, reason := problem(t, err)
		require.Equal(t, []any{fault.UnsupportedMedia, "Content-Type"}, []any{kind, field})
		require.Contains(t, reason, "2.0")
	}
}

func TestARemoteWriteIsBounded(t *testing.T) {
	p := newPlant()
	var many message
	for i := range int64(11) {
		many = many.sample(i, 1)
	}
	eleven := append(plain(), many...)
	histograms := plain()
	for range 11 {
		histograms = histograms.bytes(4, nil)
	}
	for name, body := range map[string]string{
		"in one series": promWrite(eleven), "in two": promWrite(plain("a", "1").sample(1, 1), eleven[:len(eleven)-len(message{}.sample(0, 1))]),
		"histograms": promWrite(histograms), "empty samples": promWrite(append(plain(), strings.Repeat("\x12\x00", 11)...)),
	} {
		_, err := p.pipeline(Limits{MaxPoints: 10}).Accept(t.Context(), RemoteWrite, request(body))
		kind, field, _ := problem(t, err)
		require.Equal(t, []any{fault.Invalid, "body"}, []any{kind, field}, name)
	}
	_, err := p.pipeline(Limits{MaxPoints: 11}).Accept(t.Context(), RemoteWrite, request(promWrite(eleven)))
	require.NoError(t, err)
	_, err = p.pipeline(Limits{MaxPoints: 10}).Accept(t.Context(), RemoteWrite, request(promWrite(plain().sample(1, stale), eleven[:len(eleven)-len(message{}.sample(0, 1))])))
	require.NoError(t, err, "stale markers do not count")
}

func TestSourcesOfPrometheusAreMadeForGoodSamplesOnly(t *testing.T) {
	target := func(job, instance string) message {
		return promLabels("__name__", "up", "instance", instance, "job", job)
	}
	p, result, err := acceptAs(t, RemoteWrite, promWrite(
		target("a", "1").sample(1, 1), target("b", "2").sample(1, math.NaN()), target("c", "3").sample(1, stale), target("a", "1").sample(2, 1), target("d", "4").sample(1, 1)))
	require.NoError(t, err)
	require.Equal(t, []int{3, 1}, []int{result.Accepted, result.Rejected})
	require.Equal(t, []string{"a/1", "d/4"}, p.created)
}
