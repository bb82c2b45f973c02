package ingest

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/exemplar"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// promExemplar is an exemplar of a remote write as the reference reads it.
type promExemplar struct {
	labels [][2]string
	ms     int64
	value  float64
}

// readPromExemplar parses an Exemplar. texts returns the texts that a field of labels has, in pairs.
func readPromExemplar(
	b []byte, texts func(wire protowire.Type, value []byte, number uint64) (list []string, ok bool),
) (e promExemplar, ok bool) {
	var all []string
	ok = eachField(b, func(field protowire.Number, wire protowire.Type, value []byte, number uint64) bool {
		switch {
		case field == 1:
			list, ok := texts(wire, value, number)
			all = append(all, list...)
			return ok
		case field == 2 && wire == protowire.Fixed64Type:
			e.value = math.Float64frombits(number)
		case field == 3 && wire == protowire.VarintType:
			e.ms = int64(number)
		}
		return true
	})
	for ; len(all) > 1; all = all[2:] {
		e.labels = append(e.labels, [2]string{all[0], all[1]})
	}
	return e, ok && len(all) == 0
}

// readPromLabel is the texts of a Label of version 1.
func readPromLabel(wire protowire.Type, value []byte, _ uint64) (list []string, ok bool) {
	if wire != protowire.BytesType {
		return nil, true
	}
	var label [2]string
	ok = eachField(value, func(field protowire.Number, wire protowire.Type, value []byte, _ uint64) bool {
		if wire == protowire.BytesType && (field == 1 || field == 2) {
			label[field-1] = string(value)
		}
		return true
	})
	return label[:], ok
}

// addExemplars records the exemplars of a series that are stored.
func (r *promReference) addExemplars(labels [][2]string, list []promExemplar) {
	source, name, ok := promIdentity(labels)
	for _, e := range list {
		set, runes, valid := map[string]string{}, 0, ok
		for _, l := range e.labels {
			if l[1] == "" {
				continue
			}
			_, twice := set[l[0]]
			set[l[0]] = l[1]
			runes += len([]rune(l[0])) + len([]rune(l[1]))
			valid = valid && !twice && l[0] != "" && utf8.ValidString(l[0]) && utf8.ValidString(l[1]) &&
				!strings.Contains(l[0]+l[1], "\x00")
		}
		if valid && runes <= 128 && e.ms > 0 && e.ms <= received.UnixMilli()+86_400_000 {
			key := pointName(source, name.Metric, name.Tags, e.ms*1000) + " exemplar " + jsonOf(set)
			r.points[key] = strconv.FormatFloat(e.value, 'g', -1, 64)
		}
	}
}

func jsonOf(labels map[string]string) string {
	text, _ := json.Marshal(labels) // only texts
	return string(text)
}

// addExemplars adds the exemplars of a record to points.
func addExemplars(t require.TestingT, points map[string]any, r *pointblock.Record) {
	for i := range r.Exemplars {
		s := &r.Exemplars[i]
		id := s.Identity(r)
		require.Equal(t, id.Fingerprint(&[16]byte{1, 2, 3}), s.Fingerprint)
		require.Equal(t, pointblock.KindSpecial, s.Kind)
		texts := s.AppendStrings(nil)
		for j, ts := range s.AppendTimestamps(nil) {
			require.NoError(t, exemplar.Split(texts[j], func(object string, value float64) {
				labels := map[string]string{}
				require.NoError(t, json.Unmarshal([]byte(object), &labels))
				key := pointName(id.Source, id.Metric, id.Tags, ts) + " exemplar " + jsonOf(labels)
				points[key] = strconv.FormatFloat(value, 'g', -1, 64)
			}))
		}
	}
}

// exemplar returns an exemplar, perhaps with labels that are not stored.
func (w *promWriter) exemplar() (e message) {
	for range rapid.IntRange(0, 3).Draw(w.t, "exemplar labels") {
		e = e.Bytes(1, w.label())
	}
	if !w.one(10) {
		e = e.Varint(3, uint64(rapid.Int64Range(-1, 5).Draw(w.t, "exemplar time")))
	}
	return e.Double(2, float64(rapid.IntRange(0, 8).Draw(w.t, "exemplar value"))/8)
}
