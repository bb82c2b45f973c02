package load

import (
	"math"
	"strconv"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of remote write 1.0 that are used
// (https://prometheus.io/docs/specs/prw/remote_write_spec/).
const (
	remoteSeries      protowire.Number = 1 // of WriteRequest
	remoteLabel       protowire.Number = 1 // of TimeSeries
	remoteSample      protowire.Number = 2
	remoteLabelName   protowire.Number = 1 // of Label
	remoteLabelValue  protowire.Number = 2
	remoteSampleValue protowire.Number = 1 // of Sample
	remoteSampleTime  protowire.Number = 2
)

// appendRemote appends a compressed write request that contains each series once with its
// samples, as the specification requires.
func appendRemote(b []byte, w *bodySpec, s requestSpec) []byte {
	var request, series []byte
	for i := s.first; i < s.end; i++ {
		series = w.appendLabels(series[:0], i)
		for p := range int64(s.points) {
			series = appendSample(series, w.timestamp(s.step+p), w.values.At(i, s.step+p))
		}
		request = appendMessage(request, remoteSeries, series)
	}
	return append(b, s2.EncodeSnappy(nil, request)...)
}

// appendLabels appends the labels of a series, sorted. The job is the source.
func (w *bodySpec) appendLabels(b []byte, series int) []byte {
	id := w.identity(series)
	b = appendLabel(b, "__name__", string(appendMetric(nil, id.metric)))
	b = appendLabel(b, "job", w.names[id.source])
	if w.sensors > 0 {
		b = appendLabel(b, sensorTag, strconv.Itoa(id.sensor))
	}
	return b
}

func appendLabel(b []byte, name, value string) []byte {
	var label []byte
	label = appendMessage(label, remoteLabelName, []byte(name))
	label = appendMessage(label, remoteLabelValue, []byte(value))
	return appendMessage(b, remoteLabel, label)
}

func appendSample(b []byte, ms int64, value float64) []byte {
	var buf [32]byte // larger than a sample
	sample := protowire.AppendTag(buf[:0], remoteSampleValue, protowire.Fixed64Type)
	sample = protowire.AppendFixed64(sample, math.Float64bits(value))
	sample = protowire.AppendTag(sample, remoteSampleTime, protowire.VarintType)
	sample = protowire.AppendVarint(sample, uint64(ms))
	return appendMessage(b, remoteSample, sample)
}

func appendMessage(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}
