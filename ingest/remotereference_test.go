package ingest

import (
	"context"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/remotewrite"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/promwrite"
)

// promReference is a slow and simple parser of remote write: it uses the protobuf library and checks
// one rule after the other.
type promReference struct {
	verdict
	otherVersion bool // the body is a message of the other version
}

// eachField calls f with each field of a message and its value as bytes or as a number. It reports
// whether b is a message and f returned true for all fields.
func eachField(b []byte, f func(field protowire.Number, wire protowire.Type, value []byte, number uint64) bool) bool {
	for len(b) > 0 {
		field, wire, n := protowire.ConsumeTag(b)
		if n < 0 || n != protowire.SizeTag(field) || field > protowire.MaxValidNumber {
			return false
		}
		if wire == protowire.StartGroupType || wire == protowire.EndGroupType {
			return false
		}
		value := b[n:]
		size := protowire.ConsumeFieldValue(field, wire, value)
		if size < 0 {
			return false
		}
		b = value[size:]
		var number uint64
		switch wire {
		case protowire.VarintType:
			number, _ = protowire.ConsumeVarint(value)
		case protowire.Fixed64Type:
			number, _ = protowire.ConsumeFixed64(value)
		case protowire.BytesType:
			value, _ = protowire.ConsumeBytes(value)
		}
		if !f(field, wire, value, number) {
			return false
		}
	}
	return true
}

func interpretRemoteWrite(body []byte) *promReference {
	r := &promReference{verdict: verdict{points: map[string]any{}}}
	good := eachField(body, func(field protowire.Number, wire protowire.Type, value []byte, _ uint64) bool {
		if wire == protowire.BytesType && (field == 4 || field == 5) {
			r.otherVersion = true
			return false
		}
		return field != 1 || wire != protowire.BytesType || r.series(value)
	})
	r.malformed = !good && !r.otherVersion
	r.invalid = r.accepted == 0 && r.rejected > 0
	return r
}

type promSample struct {
	ms        int64
	value     float64
	histogram string // text of a native histogram
	invalid   bool   // the histogram is not valid
}

// filledSpans returns spans with the same buckets, and none without buckets.
func filledSpans(spans []histogram.Span) (filled []histogram.Span) {
	index, end := int32(0), int32(0) // of the current span, and of the last one that has buckets
	for _, span := range spans {
		index += span.Offset
		if span.Length > 0 {
			filled = append(filled, histogram.Span{Offset: index - end, Length: span.Length})
			end = index + int32(span.Length)
		}
		index += int32(span.Length)
	}
	return filled
}

// readPromHistogram parses a native histogram with Prometheus' code.
func readPromHistogram(b []byte) (s promSample, ok bool) {
	var m prompb.Histogram
	if err := m.Unmarshal(b); err != nil {
		return s, false
	}
	s.ms = m.Timestamp
	var err error
	var stored prompb.Histogram
	if m.IsFloatHistogram() {
		h := m.ToFloatHistogram()
		err = h.Validate()
		h.PositiveSpans, h.NegativeSpans = filledSpans(h.PositiveSpans), filledSpans(h.NegativeSpans)
		stored = prompb.FromFloatHistogram(0, h)
	} else {
		h := m.ToIntHistogram()
		err = h.Validate()
		h.PositiveSpans, h.NegativeSpans = filledSpans(h.PositiveSpans), filledSpans(h.NegativeSpans)
		stored = prompb.FromIntHistogram(0, h)
	}
	if stored.ResetHint == 2 { // no reset
		stored.ResetHint = 0
	}
	raw, marshalErr := stored.Marshal()
	s.histogram = "histogram:" + base64.StdEncoding.EncodeToString(raw)
	s.invalid = err != nil || marshalErr != nil || len(b) > 8192 || len(raw) > 8192 || m.Count == nil
	return s, true
}

// readPromSample parses a Sample.
func readPromSample(b []byte) (promSample, bool) {
	var bits, ms uint64
	ok := eachField(b, func(field protowire.Number, wire protowire.Type, _ []byte, number uint64) bool {
		switch {
		case field == 1 && wire == protowire.Fixed64Type:
			bits = number
		case field == 2 && wire == protowire.VarintType:
			ms = number
		}
		return true
	})
	return promSample{ms: int64(ms), value: math.Float64frombits(bits)}, ok
}

// series parses a TimeSeries.
func (r *promReference) series(b []byte) bool {
	var labels [][2]string
	var samples []promSample
	var exemplars []promExemplar
	isLabels := true
	good := eachField(b, func(field protowire.Number, wire protowire.Type, value []byte, _ uint64) bool {
		if wire != protowire.BytesType {
			return true
		}
		switch field {
		case 1:
			var label [2]string
			isLabels = eachField(value, func(field protowire.Number, wire protowire.Type, value []byte, _ uint64) bool {
				if wire == protowire.BytesType && (field == 1 || field == 2) {
					label[field-1] = string(value)
				}
				return true
			}) && isLabels
			labels = append(labels, label)
		case 2:
			sample, ok := readPromSample(value)
			if !ok {
				return false
			}
			samples = append(samples, sample)
		case 4:
			histogram, ok := readPromHistogram(value)
			if !ok {
				return false
			}
			samples = append(samples, histogram)
		case 3:
			e, ok := readPromExemplar(value, readPromLabel)
			exemplars = append(exemplars, e)
			return ok
		}
		return true
	})
	if !good || !isLabels && len(samples)+len(exemplars) > 0 {
		return false
	}
	r.add(labels, samples)
	r.addExemplars(labels, exemplars)
	return true
}

// add counts the samples of a series and records those that are accepted.
func (r *promReference) add(labels [][2]string, samples []promSample) {
	source, name, ok := promIdentity(labels)
	latest := received.UnixMicro() + scan.DayUS
	for _, s := range samples {
		if !ok || s.invalid || s.ms < 0 || s.ms > latest/1000 {
			r.rejected++
			continue
		}
		r.accepted++
		series := pointName(source, name.Metric, name.Tags, s.ms*1000)
		switch {
		case s.histogram != "":
			r.points[series+" special"] = s.histogram
		case math.Float64bits(s.value) == remotewrite.StaleMarker:
			r.points[series+" special"] = "stale"
		case math.IsNaN(s.value), math.IsInf(s.value, 0):
			r.points[series+" special"] = strconv.FormatFloat(s.value, 'g', -1, 64)
		default:
			r.points[series+" n"] = s.value
		}
	}
}

// promIdentity returns the source and the series that labels name.
func promIdentity(labels [][2]string) (source uuid.UUID, name pointblock.Identity, ok bool) {
	seen, tags := map[string]string{}, map[string]any{}
	for _, label := range labels {
		key, value := label[0], label[1]
		if value == "" {
			continue
		}
		if _, hasDuplicate := seen[key]; hasDuplicate || !utf8.ValidString(key+"\x01"+value) || !utf8.ValidString(key) {
			return source, name, false
		}
		seen[key] = value
		if key != "__name__" && key != "job" && key != "instance" {
			tags[key] = value
			name.Tags = append(name.Tags, pointblock.Tag{Key: key, Value: value})
		}
	}
	parts := slices.DeleteFunc([]string{seen["job"], seen["instance"]}, func(s string) bool { return s == "" })
	title := strings.Join(parts, "/")
	if !block.CanNameSource(title) { // also of no part
		title = "prometheus"
	}
	name.Metric = seen["__name__"]
	if job, instance := promTarget(title); job != seen["job"] || instance != seen["instance"] {
		for _, key := range []string{"job", "instance"} {
			if value := seen[key]; value != "" {
				tags[key] = value
				name.Tags = append(name.Tags, pointblock.Tag{Key: key, Value: value})
			}
		}
	}
	slices.SortFunc(name.Tags, func(a, b pointblock.Tag) int { return strings.Compare(a.Key, b.Key) })
	return uuid.NewSHA1(workspace, []byte(title)), name,
		!badName(name.Metric) && !badTags(tags)
}

// promTarget returns the job and the instance that the name of a source means.
func promTarget(title string) (job, instance string) {
	slash := strings.IndexByte(title, '/')
	switch {
	case title == "prometheus":
		return "", ""
	case slash <= 0:
		return title, ""
	}
	return title[:slash], title[slash+1:]
}

func requireAgreementOnRemoteWrite(t require.TestingT, body []byte) {
	want := interpretRemoteWrite(body)
	requirePromVerdict(t, RemoteWrite, body, want)
}

func requirePromVerdict(t require.TestingT, version Format, body []byte, want *promReference) {
	if want.otherVersion {
		p := newFakeStores()
		_, err := p.pipeline(Limits{}).Accept(context.Background(), version, request(string(body)))
		require.True(t, fault.Is(err, fault.UnsupportedMedia), "%v for %q", err, body)
		return
	}
	_ = requireVerdict(t, version, body, want.verdict)
}

// promWriter writes random remote write requests in unusual but valid protobuf.
type promWriter struct{ t *rapid.T }

func (w *promWriter) one(in int) bool { return rapid.IntRange(1, in).Draw(w.t, "one") == 1 }

func (w *promWriter) label() message {
	key := rapid.SampledFrom([]string{"a", "b", "c", "le", "é", "job", "instance", "__name__"}).Draw(w.t, "key")
	value := rapid.SampledFrom([]string{"1", "2", "", "+Inf", "日本"}).Draw(w.t, "value")
	if w.one(40) {
		key = rapid.SampledFrom([]string{"", "\xff", "\x00", strings.Repeat("x", 257)}).Draw(w.t, "odd key")
	}
	if w.one(40) {
		value = rapid.SampledFrom([]string{
			"\xff", "\x00", strings.Repeat("x", 1025), strings.Repeat("x", 200), "a\nb",
		}).Draw(w.t, "odd value")
	}
	if w.one(20) {
		return message{}.Text(2, value).Varint(3, 7).Text(1, key)
	}
	return message{}.Text(1, key).Text(2, value)
}

func (w *promWriter) sample() message {
	ms := rapid.Int64Range(0, 20).Draw(w.t, "ms")
	value := float64(rapid.IntRange(-1000, 1000).Draw(w.t, "value")) / 8
	if w.one(8) {
		ms = rapid.SampledFrom([]int64{
			-1, 0, math.MaxInt64, math.MinInt64, received.UnixMilli() + 86_400_000, received.UnixMilli() + 86_400_001,
		}).Draw(w.t, "odd time")
	}
	if w.one(8) {
		value = rapid.SampledFrom([]float64{
			stale, math.NaN(), math.Inf(1), math.Copysign(0, -1), math.MaxFloat64,
		}).Draw(w.t, "odd value")
	}
	switch {
	case w.one(10):
		return message{}.Varint(2, uint64(ms)).Double(1, value)
	case w.one(20):
		return message{}.Double(1, value).Text(3, "x").Varint(2, uint64(ms))
	}
	return message{}.Double(1, value).Varint(2, uint64(ms))
}

// histogram returns a native histogram of integers or of floats, which may be invalid.
func (w *promWriter) histogram() message {
	buckets := rapid.SliceOfN(rapid.Int64Range(-2, 3), 0, 4).Draw(w.t, "buckets")
	h := &histogram.Histogram{
		Schema: rapid.SampledFrom([]int32{0, 3, -4, 8, -53, 9}).Draw(w.t, "schema"), Sum: 2.5, PositiveBuckets: buckets,
		PositiveSpans:    []histogram.Span{{Offset: 1, Length: uint32(len(buckets))}},
		CounterResetHint: histogram.CounterResetHint(rapid.IntRange(0, 3).Draw(w.t, "hint")),
	}
	if h.Schema == histogram.CustomBucketsSchema {
		h.CustomValues = []float64{1, 2, 3, 4}
	}
	if w.one(10) {
		h.PositiveSpans[0].Length++
	}
	if w.one(4) {
		h.PositiveSpans = append([]histogram.Span{{Offset: rapid.Int32Range(-3, 1).Draw(w.t, "empty")}}, h.PositiveSpans...)
	}
	if w.one(20) {
		h.Sum = stale
	}
	for current, i := int64(0), 0; i < len(buckets); i++ {
		current += buckets[i]
		h.Count += uint64(max(current, 0))
	}
	ms := rapid.Int64Range(-1, 20).Draw(w.t, "ms")
	m := prompb.FromIntHistogram(ms, h)
	if w.one(3) {
		m = prompb.FromFloatHistogram(ms, h.ToFloat(nil))
	}
	raw, err := m.Marshal()
	require.NoError(w.t, err)
	return raw
}

func (w *promWriter) series() (s message) {
	target := rapid.IntRange(0, 2).Draw(w.t, "target")
	s = promwrite.Labels("__name__", rapid.SampledFrom([]string{"up", "temperature"}).Draw(w.t, "metric"))
	if !w.one(10) {
		s = append(
			s,
			promwrite.Labels("instance", []string{"a:1", "b:1", "c"}[target], "job", []string{"node", "node", "b"}[target])...,
		)
	}
	for range rapid.IntRange(0, 3).Draw(w.t, "labels") {
		s = s.Bytes(1, w.label())
	}
	for range rapid.IntRange(0, 4).Draw(w.t, "samples") {
		s = s.Bytes(2, w.sample())
		switch rapid.IntRange(0, 60).Draw(w.t, "between") {
		case 0:
			s = s.Bytes(1, w.label())
		case 1:
			s = s.Bytes(4, nil)
		case 2:
			s = s.Bytes(3, w.exemplar())
		case 3, 4, 5:
			s = s.Bytes(4, w.histogram())
		}
	}
	for w.one(4) {
		s = s.Bytes(3, w.exemplar())
	}
	return s
}

func (w *promWriter) request() string {
	var request message
	for range rapid.IntRange(0, 8).Draw(w.t, "series") {
		request = request.Bytes(1, w.series())
		switch rapid.IntRange(0, 40).Draw(w.t, "after") {
		case 0:
			request = request.Bytes(3, []byte("metadata"))
		case 1:
			request = request.Varint(2, 1).Varint(1000, 1)
		}
	}
	return string(request)
}

func TestRemoteWritesAgreeWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := promWriter{t: t}
		requireAgreementOnRemoteWrite(t, []byte(w.request()))
	})
}

func TestBrokenRemoteWritesAgreeWithTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := promWriter{t: t}
		body := []byte(w.request())
		if len(body) == 0 {
			return
		}
		requireAgreementOnRemoteWrite(t, changeByte(t, body, rapid.Byte()))
	})
}

// FuzzParseRemoteWrite checks that the pipeline accepts and refuses the same bodies as the reference,
// writes the same points, and does not panic.
func FuzzParseRemoteWrite(f *testing.F) {
	for _, body := range []string{
		"", promWrite(plain().Sample(1, 1)),
		promWrite(plain("a", "1", "b", "").Sample(1, 1).Sample(2, stale).Sample(1, math.NaN())),
		promWrite(append(message{}.Sample(1, 1), plain("mode", "idle").Bytes(4, nil).Sample(2, 2)...)),
		promWrite(
			promwrite.Labels("zone", "z", "job", "node", "__name__", "up", "zone", "m").Sample(-1, 1), message{}.Bytes(2, nil),
		),
		string(message{}.Text(4, "").Bytes(5, nil)),
		string(message{}.Bytes(3, message{}.Varint(1, 1).Text(2, "up")).Varint(2, 1)),
		promWrite(plain().Bytes(3, message{}.Bytes(1, message{}.Text(1, "trace_id").Text(2, "x")).Double(2, 1).Varint(3, 5))),
		promWrite(plain("é", "\xff").Bytes(2, message{}.Varint(2, 7).Text(9, "x").Double(1, 5))),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireAgreementOnRemoteWrite(t, body) })
}
