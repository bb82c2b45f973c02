package load

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// pointKey identifies a point in a body of any format.
type pointKey struct {
	source, sensor, metric string
	ms                     int64
}

// TestFormatsAreEquivalent checks that every format contains the same points, each once, with
// and without sensors.
func TestFormatsAreEquivalent(t *testing.T) {
	read := map[Format]func(t *testing.T, body string, into func(pointKey, float64)){
		FormatNDJSON: readNDJSON, FormatLines: readLines, FormatWideLines: readLines, FormatRemote: readRemote,
	}
	start := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for _, sensors := range []int{0, 4} {
		f := &Fleet{sources: []string{"s-0", "s-1", "s-2"}, names: []string{"s-0", "s-1", "s-2"}, sensors: sensors}
		w := f.bodySpec(&Plan{Values: ValuesGauge, Start: start, Interval: time.Second})
		s := requestSpec{first: 2, end: 31, step: 9000, points: 5}
		want := map[pointKey]float64{}
		for i := s.first; i < s.end; i++ {
			key := pointKey{source: "s-" + strconv.Itoa(i%3), metric: "m" + strconv.Itoa(i/3)}
			if sensors > 0 {
				key.sensor, key.metric = strconv.Itoa(i/3%sensors), "m"+strconv.Itoa(i/3/sensors)
			}
			for p := range int64(s.points) {
				key.ms = start.UnixMilli() + 1000*(s.step+p)
				want[key] = ValuesGauge.At(i, s.step+p)
			}
		}
		for _, format := range []Format{FormatNDJSON, FormatLines, FormatWideLines, FormatRemote} {
			t.Run(string(format)+"/sensors="+strconv.Itoa(sensors), func(t *testing.T) {
				got := map[pointKey]float64{}
				read[format](t, string(encodings[format].append(nil, w, s)), func(key pointKey, value float64) {
					require.NotContains(t, got, key)
					got[key] = value
				})
				require.Equal(t, want, got)
			})
		}
	}
}

func TestWideLinesHaveALineForAllOfASensor(t *testing.T) {
	f := &Fleet{names: []string{"a"}, sources: []string{"a"}, sensors: 2}
	w := f.bodySpec(&Plan{Values: ValuesConstant, Start: time.UnixMilli(5), Interval: time.Second})
	body := string(appendWideLines(nil, w, requestSpec{end: 4, points: 1}))
	require.Equal(t, "a,sensor=0 m0=0,m1=2 5000000\na,sensor=1 m0=1,m1=3 5000000\n", body)
}

func readNDJSON(t *testing.T, body string, into func(pointKey, float64)) {
	for line := range strings.Lines(body) {
		var row struct {
			SourceID, Metric string
			Tags             map[string]string
			Timestamp        int64
			Value            float64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		into(pointKey{row.SourceID, row.Tags[sensorTag], row.Metric, row.Timestamp}, row.Value)
	}
}

func readLines(t *testing.T, body string, into func(pointKey, float64)) {
	for line := range strings.Lines(body) {
		parts := strings.Fields(line)
		require.Len(t, parts, 3)
		var key pointKey
		key.source, key.sensor, _ = strings.Cut(parts[0], ","+sensorTag+"=")
		ns, err := strconv.ParseInt(parts[2], 10, 64)
		require.NoError(t, err)
		key.ms = ns / int64(time.Millisecond)
		for field := range strings.SplitSeq(parts[1], ",") {
			name, text, _ := strings.Cut(field, "=")
			value, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			key.metric = name
			into(key, value)
		}
	}
}

func readRemote(t *testing.T, body string, into func(pointKey, float64)) {
	request, err := s2.Decode(nil, []byte(body))
	require.NoError(t, err)
	eachMessage(t, request, func(_ protowire.Number, series []byte) {
		var key pointKey
		eachMessage(t, series, func(field protowire.Number, inner []byte) {
			if field == remoteLabel {
				label := map[protowire.Number]string{}
				eachMessage(t, inner, func(field protowire.Number, text []byte) { label[field] = string(text) })
				members := map[string]*string{"__name__": &key.metric, "job": &key.source, sensorTag: &key.sensor}
				*members[label[remoteLabelName]] = label[remoteLabelValue]
				return
			}
			_, _, n := protowire.ConsumeTag(inner)
			bits, m := protowire.ConsumeFixed64(inner[n:])
			_, _, k := protowire.ConsumeTag(inner[n+m:])
			ms, _ := protowire.ConsumeVarint(inner[n+m+k:])
			key.ms = int64(ms)
			into(key, math.Float64frombits(bits))
		})
	})
}

// eachMessage calls visit with each field of a message. All fields must be bytes.
func eachMessage(t *testing.T, b []byte, visit func(field protowire.Number, inner []byte)) {
	for len(b) > 0 {
		field, _, n := protowire.ConsumeTag(b)
		require.Positive(t, n)
		inner, m := protowire.ConsumeBytes(b[n:])
		require.Positive(t, m)
		visit(field, inner)
		b = b[n+m:]
	}
}
