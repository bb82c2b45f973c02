package load

import (
	"math"
	"strconv"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of remote write 1.0 that are written
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

// appendRemote writes each series once with its samples, and compresses the whole,
// as the specification has it.
func appendRemote(b []byte, w *writing, s slice) []byte {
	var request, series []byte
	for i := s.first; i < s.end; i++ {
		series = w.appendLabels(series[:0], i)
		for p := range int64(s.points) {
			series = appendSample(series, w.at(s.step+p), w.values.At(i, s.step+p))
		}
		request = appendMessage(request, remoteSeries, series)
	}
	return append(b, s2.EncodeSnappy(nil, request)...)
}

// appendLabels writes the labels of a series, sorted: its job is the source.
func (w *writing) appendLabels(b []byte, series int) []byte {
	of := w.identity(series)
	b = appendLabel(b, "__name__", string(appendMetric(nil, of.metric)))
	b = appendLabel(b, "job", w.names[of.source])
	if w.sensors > 0 {
		b = appendLabel(b, sensorTag, strconv.Itoa(of.sensor))
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
	var room [32]byte // more than it takes
	sample := protowire.AppendTag(room[:0], remoteSampleValue, protowire.Fixed64Type)
	sample = protowire.AppendFixed64(sample, math.Float64bits(value))
	sample = protowire.AppendTag(sample, remoteSampleTime, protowire.VarintType)
	sample = protowire.AppendVarint(sample, uint64(ms))
	return appendMessage(b, remoteSample, sample)
}

func appendMessage(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}
