package ingest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/test/promwrite"
)

type message = promwrite.Message

// promWrite returns a request with the series.
func promWrite(series ...message) string { return string(promwrite.Request(series...)) }

// plain returns the labels that most tests use, and the given ones.
func plain(more ...string) message {
	return promwrite.Labels(append([]string{"__name__", "up", "instance", "a:1", "job", "node"}, more...)...)
}

var (
	nodeSource = uuid.NewSHA1(workspace, []byte("node/a:1"))
	stale      = promwrite.Stale()
)

func TestSamplesOfPrometheusAreTaken(t *testing.T) {
	long := strings.Repeat("x", 300)
	in := func(source, rest string) string { return uuid.NewSHA1(workspace, []byte(source)).String() + " " + rest }
	for name, c := range map[string]struct {
		body string
		want map[string]any
	}{
		"a sample": {promWrite(plain().Sample(1795246808123, 1.5)), map[string]any{
			in("node/a:1", `"up"{} 1795246808123000 n`): 1.5,
		}},
		"many": {promWrite(plain().Sample(1, 1).Sample(2, -2).Sample(1, 3)), map[string]any{
			in("node/a:1", `"up"{} 1000 n`): 3.0, in("node/a:1", `"up"{} 2000 n`): -2.0,
		}},
		"tags": {promWrite(plain("mode", "idle", "zone", "é").Sample(1, 1)), map[string]any{
			in("node/a:1", `"up"{"mode"="idle","zone"="é",} 1000 n`): 1.0,
		}},
		"labels in disorder": {
			promWrite(
				promwrite.Labels("zone", "z", "job", "node", "__name__", "up", "mode", "m", "instance", "a:1").Sample(1, 1),
			),
			map[string]any{in("node/a:1", `"up"{"mode"="m","zone"="z",} 1000 n`): 1.0},
		},
		"empty is absent": {
			promWrite(plain("mode", "").Sample(1, 1)), map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0},
		},
		"no job": {
			promWrite(promwrite.Labels("__name__", "up", "instance", "a:1").Sample(1, 1)),
			map[string]any{in("a:1", `"up"{"instance"="a:1",} 1000 n`): 1.0},
		},
		"no instance": {
			promWrite(promwrite.Labels("__name__", "up", "job", "node").Sample(1, 1)),
			map[string]any{in("node", `"up"{} 1000 n`): 1.0},
		},
		"a job with a slash": {
			promWrite(promwrite.Labels("__name__", "up", "job", "a/b", "instance", "c").Sample(1, 1)),
			map[string]any{in("a/b/c", `"up"{"instance"="c","job"="a/b",} 1000 n`): 1.0},
		},
		"an instance with a slash": {
			promWrite(promwrite.Labels("__name__", "up", "job", "a", "instance", "b/c").Sample(1, 1)),
			map[string]any{in("a/b/c", `"up"{} 1000 n`): 1.0},
		},
		"a job that is the name of the source of neither": {
			promWrite(promwrite.Labels("__name__", "up", "job", "prometheus").Sample(1, 1)),
			map[string]any{in("prometheus", `"up"{"job"="prometheus",} 1000 n`): 1.0},
		},
		"a job with a line break": {
			promWrite(promwrite.Labels("__name__", "up", "job", "a\nb", "instance", "a:1").Sample(1, 1)),
			map[string]any{in("prometheus", `"up"{"instance"="a:1","job"="a\nb",} 1000 n`): 1.0},
		},
		"job and instance with over 256 characters": {
			promWrite(promwrite.Labels("__name__", "up", "job", long[:200], "instance", long[:56], "z", "1").Sample(1, 1)),
			map[string]any{
				in("prometheus", `"up"{"instance"="`+long[:56]+`","job"="`+long[:200]+`","z"="1",} 1000 n`): 1.0,
			},
		},
		"job and instance with 256 characters": {
			promWrite(promwrite.Labels("__name__", "up", "job", long[:200], "instance", long[:55]).Sample(1, 1)),
			map[string]any{in(long[:200]+"/"+long[:55], `"up"{} 1000 n`): 1.0},
		},
		"only spaces": {
			promWrite(promwrite.Labels("__name__", "up", "instance", "  ").Sample(1, 1)),
			map[string]any{in("prometheus", `"up"{"instance"="  ",} 1000 n`): 1.0},
		},
		"neither": {
			promWrite(promwrite.Labels("__name__", "ALERTS", "alertname", "x").Sample(1, 1)),
			map[string]any{in("prometheus", `"ALERTS"{"alertname"="x",} 1000 n`): 1.0},
		},
		"zeros left out": {promWrite(plain().Bytes(2, nil)), map[string]any{in("node/a:1", `"up"{} 0 n`): 0.0}},
		"time before value": {
			promWrite(plain().Bytes(2, message{}.Varint(2, 7).Double(1, 5))),
			map[string]any{in("node/a:1", `"up"{} 7000 n`): 5.0},
		},
		"fields twice": {
			promWrite(plain().Bytes(2, message{}.Double(1, 4).Varint(2, 6).Varint(2, 7).Double(1, 5))),
			map[string]any{in("node/a:1", `"up"{} 7000 n`): 5.0},
		},
		"samples before labels": {promWrite(append(message{}.Sample(1, 1), plain("mode", "idle").Sample(2, 2)...)),
			map[string]any{
				in("node/a:1", `"up"{"mode"="idle",} 1000 n`): 1.0, in("node/a:1", `"up"{"mode"="idle",} 2000 n`): 2.0,
			}},
		"series by turns": {promWrite(
			plain("a", "1").Sample(2, 1), plain("a", "2").Sample(2, 2), plain("a", "1").Sample(1, 3),
		),
			map[string]any{
				in("node/a:1", `"up"{"a"="1",} 1000 n`): 3.0, in("node/a:1", `"up"{"a"="1",} 2000 n`): 1.0,
				in("node/a:1", `"up"{"a"="2",} 2000 n`): 2.0,
			}},
		"the same in another order": {
			promWrite(plain("a", "1", "b", "2").Sample(1, 1), plain("b", "2", "a", "1").Sample(1, 2)),
			map[string]any{in("node/a:1", `"up"{"a"="1","b"="2",} 1000 n`): 2.0},
		},
		"targets by turns": {promWrite(
			plain().Sample(1, 1), promwrite.Labels("__name__", "up", "instance", "b:1", "job", "node").Sample(1, 2),
			plain().Sample(2, 3),
		),
			map[string]any{
				in("node/a:1", `"up"{} 1000 n`): 1.0, in("node/b:1", `"up"{} 1000 n`): 2.0, in("node/a:1", `"up"{} 2000 n`): 3.0,
			}},
		"ten years old": {promWrite(plain().Sample(received.AddDate(-10, 0, 0).UnixMilli(), 1)), map[string]any{
			in("node/a:1", fmt.Sprintf(`"up"{} %d n`, received.AddDate(-10, 0, 0).UnixMilli()*1000)): 1.0,
		}},
		"stale marker": {
			promWrite(plain().Sample(1, 1).Sample(2, stale)), map[string]any{
				in("node/a:1", `"up"{} 1000 n`): 1.0, in("node/a:1", `"up"{} 2000 special`): "stale",
			},
		},
		"NaN and infinities": {
			promWrite(plain().Sample(1, math.NaN()).Sample(2, math.Inf(1)).Sample(3, 3).Sample(4, math.Inf(-1)).
				Sample(5, math.Float64frombits(0xfff8000000000000)), plain().Sample(6, math.NaN())),
			map[string]any{
				in("node/a:1", `"up"{} 1000 special`): "NaN", in("node/a:1", `"up"{} 2000 special`): "+Inf",
				in("node/a:1", `"up"{} 3000 n`): 3.0, in("node/a:1", `"up"{} 4000 special`): "-Inf",
				in("node/a:1", `"up"{} 5000 special`): "NaN", in("node/a:1", `"up"{} 6000 special`): "NaN",
			},
		},
		"exemplars": {
			promWrite(plain().Sample(1, 1).Bytes(3, message{}.Double(2, 1))),
			map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0},
		},
		"metadata": {
			promWrite(plain().Sample(1, 1)) + string(message{}.Bytes(3, message{}.Varint(1, 1).Text(2, "up"))),
			map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0},
		},
		"unknown fields": {
			string(message{}.Varint(2, 1).Bytes(100, []byte("x"))) + promWrite(plain().Varint(9, 1).Sample(1, 1).Double(10, 1)),
			map[string]any{in("node/a:1", `"up"{} 1000 n`): 1.0},
		},
		"nothing":       {promWrite(), map[string]any{}},
		"metadata only": {string(message{}.Bytes(3, message{}.Varint(1, 1).Text(2, "up"))), map[string]any{}},
		"stale only": {
			promWrite(plain().Sample(1, stale)), map[string]any{in("node/a:1", `"up"{} 1000 special`): "stale"},
		},
		"no samples": {promWrite(plain(), message{}), map[string]any{}},
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
		why    rejection.Reason
		n      int
	}{
		"after stale markers": {
			plain().Sample(1, stale).Sample(2, 1).Sample(3, stale).Sample(4, stale).Sample(-5, math.Inf(1)),
			"timeseries[1].samples[4].timestamp", rejection.TimeEarly, 1,
		},
		"stale before 1970": {plain().Sample(-1, stale), "timeseries[1].samples[0].timestamp", rejection.TimeEarly, 1},
		"before 1970":       {plain().Sample(-1, 1), "timeseries[1].samples[0].timestamp", rejection.TimeEarly, 1},
		"long before":       {plain().Sample(math.MinInt64, 1), "timeseries[1].samples[0].timestamp", rejection.TimeEarly, 1},
		"a day ahead": {
			plain().Sample(received.UnixMilli()+86_400_001, 1), "timeseries[1].samples[0].timestamp", rejection.TimeLate, 1,
		},
		"at the end of time": {plain().Sample(math.MaxInt64, 1), "timeseries[1].samples[0].timestamp", rejection.TimeLate, 1},
		"in microseconds": {
			plain().Sample(received.UnixMicro(), 1), "timeseries[1].samples[0].timestamp", rejection.TimeLate, 1,
		},
		"no name": {
			promwrite.Labels("job", "node", "instance", "a:1").Sample(1, 1).Sample(2, 2), "timeseries[1].labels.__name__",
			rejection.MetricEmpty, 2,
		},
		"no labels": {message{}.Sample(1, 1), "timeseries[1].labels.__name__", rejection.MetricEmpty, 1},
		"empty name": {
			promwrite.Labels("__name__", "", "job", "node").Sample(1, 1), "timeseries[1].labels.__name__",
			rejection.MetricEmpty, 1,
		},
		"long name": {
			promwrite.Labels("__name__", long, "job", "node").Sample(1, 1), "timeseries[1].labels.__name__",
			rejection.MetricLong, 1,
		},
		"NUL in the name": {
			promwrite.Labels("__name__", "a\x00", "job", "node").Sample(1, 1), "timeseries[1].labels.__name__",
			rejection.MetricNUL, 1,
		},
		"name twice": {
			plain("__name__", "down").Sample(1, 1), "timeseries[1].labels.__name__", rejection.TagTwice, 1,
		},
		"job twice": {plain("job", "other").Sample(1, 1), "timeseries[1].labels.job", rejection.TagTwice, 1},
		"instance twice": {
			plain("instance", "other").Sample(1, 1), "timeseries[1].labels.instance", rejection.TagTwice, 1,
		},
		"label twice": {
			plain("a", "1", "b", "1", "a", "2").Sample(1, 1), "timeseries[1].labels.a", rejection.TagTwice, 1,
		},
		"label twice, same":    {plain("a", "1", "a", "1").Sample(1, 1), "timeseries[1].labels.a", rejection.TagTwice, 1},
		"label without a name": {plain("", "1").Sample(1, 1), `timeseries[1].labels[""]`, rejection.TagEmpty, 1},
		"long label": {
			plain(long, "1").Sample(1, 1), "timeseries[1].labels." + long[:100] + "…", rejection.TagLong, 1,
		},
		"long value": {
			plain("a", strings.Repeat("x", 1025)).Sample(1, 1), "timeseries[1].labels.a", rejection.TagValueLong, 1,
		},
		"NUL in a value":        {plain("a", "\x00").Sample(1, 1), "timeseries[1].labels.a", rejection.TagValueNUL, 1},
		"NUL in a label's name": {plain("\x00", "a").Sample(1, 1), `timeseries[1].labels["\u0000"]`, rejection.TagNUL, 1},
		"name not UTF-8": {
			promwrite.Labels("__name__", "\xff", "job", "node").Sample(1, 1), "timeseries[1].labels.__name__",
			rejection.MetricUTF8, 1,
		},
		"value not UTF-8":        {plain("a", "\xff").Sample(1, 1), "timeseries[1].labels.a", rejection.TagUTF8, 1},
		"label's name not UTF-8": {plain("b\xff", "1").Sample(1, 1), "timeseries[1].labels.b\ufffd", rejection.TagUTF8, 1},
		"65 labels":              {plain(many...).Sample(1, 1), "timeseries[1].labels", rejection.TagsMany, 1},
		"job not UTF-8": {
			promwrite.Labels("__name__", "up", "job", "\xff").Sample(1, 1), "timeseries[1].labels.job", rejection.TagUTF8, 1,
		},
		"instance not UTF-8": {
			promwrite.Labels("__name__", "up", "job", "a", "instance", "\xff").Sample(1, 1), "timeseries[1].labels.instance",
			rejection.TagUTF8, 1,
		},
		"NUL in a job": {
			promwrite.Labels("__name__", "up", "job", "a\x00").Sample(1, 1), "timeseries[1].labels.job",
			rejection.TagValueNUL, 1,
		},
		"long instance": {
			promwrite.Labels("__name__", "up", "job", "a", "instance", strings.Repeat("x", 1025)).Sample(1, 1),
			"timeseries[1].labels.instance", rejection.TagValueLong, 1,
		},
		"histogram": {
			plain().Bytes(4, message{}.Double(3, 1)).Bytes(4, nil), "timeseries[1].histograms[0]", rejection.ValueHistogram, 2,
		},
		"histogram and sample": {
			plain().Sample(1, 1).Bytes(4, message{}.Double(3, 1)), "timeseries[1].histograms[0]", rejection.ValueHistogram, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			good := plain("good", "yes")
			_, result, err := acceptAs(t, RemoteWrite, promWrite(good.Sample(1, 1), c.series, good.Sample(2, 2)))
			require.NoError(t, err)
			require.Equal(t, c.n, result.Rejected, "%+v", result.Errors)
			require.Len(t, result.Errors, 1)
			require.Equal(t, []any{1, c.field, c.why.Text()}, []any{
				result.Errors[0].Index, result.Errors[0].Field, result.Errors[0].Reason,
			})
			require.Nil(t, result.Errors[0].Line)
			require.GreaterOrEqual(t, result.Accepted, 2)
		})
	}
}

func TestWhatIsNoRemoteWriteIsRefused(t *testing.T) {
	good := promWrite(plain().Sample(1, 1))
	for name, body := range map[string]string{
		"text": "hello", "JSON": `{"points":[]}`, "cut off": good[:len(good)-1], "cut off in a label": good[:10],
		"a length beyond the end": "\x0a\xff\xff\xff\xff\x0f",
		"a length beyond 2^64":    "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "field 0": good + "\x00\x00",
		"a group": good + "\x13\x14", "wire type 7": good + "\x0f", "a tag in too many bytes": "\x8a\x00\x00",
		"a varint without end": good + "\x10" + strings.Repeat("\xff", 11),
		"a label cut off":      promWrite(message{}.Bytes(1, []byte{0x0a, 5, 'a'}).Sample(1, 1)),
		"a label of nonsense":  promWrite(plain().Bytes(1, []byte{0x0f}).Sample(1, 1)),
		"a sample cut off":     promWrite(plain().Bytes(2, []byte{0x09, 1, 2})),
		"a time without end":   promWrite(plain().Bytes(2, []byte{0x10, 0xff})),
		"a time of 11 bytes": promWrite(plain().Bytes(2, append(
			message{}.Double(1, 1), "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"...,
		))),
		"a fixed32 cut off": good + "\x15\x00", "a fixed64 cut off": good + "\x11\x00",
		"snappy": "\x05\x10hello",
	} {
		p, _, err := acceptAs(t, RemoteWrite, body)
		require.Error(t, err, name)
		kind, field, _ := problem(t, err)
		require.Equal(t, []any{fault.Malformed, "body"}, []any{kind, field}, name)
		require.Empty(t, p.messages)
	}
	for _, v2 := range []message{
		message{}.Text(4, ""), message{}.Text(4, "").Text(4, "up").Bytes(5, message{}.Bytes(1, []byte{0, 1}).Sample(1, 1)),
		message{}.Bytes(5, nil),
	} {
		_, _, err := acceptAs(t, RemoteWrite, string(v2))
		kind, field, reason := problem(t, err)
		require.Equal(t, []any{fault.UnsupportedMedia, "Content-Type"}, []any{kind, field})
		require.Contains(t, reason, "2.0")
	}
}

func TestARemoteWriteIsBounded(t *testing.T) {
	p := newFakeStores()
	var many message
	for i := range int64(11) {
		many = many.Sample(i, 1)
	}
	eleven := append(plain(), many...)
	histograms := plain()
	for range 11 {
		histograms = histograms.Bytes(4, nil)
	}
	for name, body := range map[string]string{
		"in one series": promWrite(eleven),
		"in two":        promWrite(plain("a", "1").Sample(1, 1), eleven[:len(eleven)-len(message{}.Sample(0, 1))]),
		"histograms":    promWrite(histograms),
		"empty samples": promWrite(append(plain(), strings.Repeat("\x12\x00", 11)...)),
	} {
		_, err := p.pipeline(Limits{MaxPoints: 10}).Accept(t.Context(), RemoteWrite, request(body))
		kind, field, _ := problem(t, err)
		require.Equal(t, []any{fault.Invalid, "body"}, []any{kind, field}, name)
	}
	_, err := p.pipeline(Limits{MaxPoints: 11}).Accept(t.Context(), RemoteWrite, request(promWrite(eleven)))
	require.NoError(t, err)
}

func TestSourcesOfPrometheusAreMadeForGoodSamplesOnly(t *testing.T) {
	target := func(job, instance string) message {
		return promwrite.Labels("__name__", "up", "instance", instance, "job", job)
	}
	p, result, err := acceptAs(t, RemoteWrite, promWrite(
		target("a", "1").Sample(1, 1), target("b", "2").Sample(-1, 1), target("c", "3").Sample(1, stale),
		target("a", "1").Sample(2, 1), target("d", "4").Sample(1, 1)))
	require.NoError(t, err)
	require.Equal(t, []int{4, 1}, []int{result.Accepted, result.Rejected})
	require.Equal(t, []string{"a/1", "c/3", "d/4"}, p.created)
}
