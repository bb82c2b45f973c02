package pointblock

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// ErrIdentityTooLarge says that a series' identity leaves no room for a point.
var ErrIdentityTooLarge = errors.New("pointblock: the series' identity does not fit into a record")

// ErrTimestamp says that a series has a time before 1970.
var ErrTimestamp = errors.New("pointblock: a timestamp is negative")

// Encoder builds the records of one partition out of one request. It starts a
// new record when the current one is full, and spreads a series that is larger
// than a record over several. It is made to be kept and reset: in the steady
// state it allocates nothing.
type Encoder struct {
	buf     []byte // all records, one after the other
	records []builtRecord
	head    []byte // what every record starts with
	deltas  []byte // the current series' packed timestamps, and their unit
	unit    int64
	decimal []byte // and its numbers, if they are written as decimals
	scale   int
	series  []byte // the current series' identity, encoded
	order   []moment
	numbers []float64
	texts   []string
}

// builtRecord is where a record starts in the buffer and whose it is.
type builtRecord struct {
	start  int
	source uuid.UUID
	mixed  bool // more than one source
	any    bool // at least one series
	points int
}

// Reset forgets all records and starts the first of a new request.
func (e *Encoder) Reset(workspace uuid.UUID, receivedAtUS int64) {
	e.head = appendHead(e.head[:0], workspace, receivedAtUS)
	e.buf = append(e.buf[:0], e.head...)
	e.records = append(e.records[:0], builtRecord{})
}

func appendHead(dst []byte, workspace uuid.UUID, receivedAtUS int64) []byte {
	dst = appendField(dst, recordWorkspace, workspace[:])
	if receivedAtUS != 0 {
		dst = protowire.AppendVarint(append(dst, recordReceivedAt), uint64(receivedAtUS))
	}
	return dst
}

// Len returns the bytes of all records so far.
func (e *Encoder) Len() int { return len(e.buf) }

// Empty reports whether no series has been appended since Reset.
func (e *Encoder) Empty() bool { return len(e.records) == 1 && !e.records[0].any }

// Bytes returns the record that is being built: the only one, unless the points
// were too many for one. It is valid until the next call.
func (e *Encoder) Bytes() []byte { return e.buf[e.records[len(e.records)-1].start:] }

// AppendMessages appends one message for each record that has points. The
// messages are valid until the next Reset.
func (e *Encoder) AppendMessages(dst []Message, partition int32) []Message {
	for i := range e.records {
		r := &e.records[i]
		if !r.any {
			continue
		}
		end := len(e.buf)
		if i+1 < len(e.records) {
			end = e.records[i+1].start
		}
		m := Message{Partition: partition, Value: e.buf[r.start:end:end]}
		if !r.mixed {
			m.Key = r.source[:]
		}
		dst = append(dst, m)
	}
	return dst
}

// AppendNumbers appends points of one series of KindNumber, which must not have
// been appended since Reset. The columns are of equal length and the values
// finite; they need not be sorted: they are put in order in place, and of several
// with the same time the last stands.
func (e *Encoder) AppendNumbers(ref SeriesRef, id *Identity, ts []int64, values []float64) error {
	e.series = appendIdentity(e.series[:0], ref, id)
	return e.appendNumbers(id.Source, ts, values)
}

// appendNumbers appends points of the series in e.series.
func (e *Encoder) appendNumbers(source uuid.UUID, ts []int64, values []float64) error {
	if !increasing(ts) {
		n := sortColumns(&e.order, &e.numbers, ts, values)
		ts, values = ts[:n], values[:n]
	}
	return appendPoints(e, source, ts, values, (*Encoder).numbersSize, (*Encoder).writeNumbers)
}

// AppendSeries appends what a record says of a series before its points, for
// AppendNumbersOf: who keeps it saves the writing.
func AppendSeries(dst []byte, ref SeriesRef, id *Identity) []byte {
	return appendIdentity(dst, ref, id)
}

// AppendNumbersOf is AppendNumbers for a series of the source that AppendSeries has
// written.
func (e *Encoder) AppendNumbersOf(series []byte, source uuid.UUID, ts []int64, values []float64) error {
	e.series = append(e.series[:0], series...)
	return e.appendNumbers(source, ts, values)
}

// AppendStrings is AppendNumbers for a series of KindString.
func (e *Encoder) AppendStrings(ref SeriesRef, id *Identity, ts []int64, texts []string) error {
	e.series = appendIdentity(e.series[:0], ref, id)
	if !increasing(ts) {
		n := sortColumns(&e.order, &e.texts, ts, texts)
		ts, texts = ts[:n], texts[:n]
	}
	err := appendPoints(e, id.Source, ts, texts, (*Encoder).textsSize, (*Encoder).writeTexts)
	clear(e.texts) // they belong to the caller
	return err
}

// maxPointsInRecord is how many points a record holds, however small they are: anyone who
// reads a record may have to make room for all of them. More points are split before they
// are sized, which keeps the scratch buffers small.
const maxPointsInRecord = MaxRecordBytes / 9

// appendPoints appends the points of the series in e.series, in as many records
// as it takes.
func appendPoints[V any](
	e *Encoder, source uuid.UUID, ts []int64, values []V, size func(*Encoder, []V) int, write func(*Encoder, []V),
) error {
	if len(ts) == 0 {
		return nil
	}
	if ts[0] < 0 {
		return ErrTimestamp
	}
	if len(ts) <= maxPointsInRecord {
		e.unit = unitOf(ts)
		e.deltas = appendDeltas(e.deltas[:0], ts, e.unit)
		inner := len(e.series) + sizeField(len(e.deltas)) + size(e, values)
		if e.unit != 1 {
			inner += 1 + protowire.SizeVarint(uint64(e.unit))
		}
		fits, alone := e.fits(inner, len(ts))
		if alone {
			if !fits {
				e.seal()
			}
			e.open(source, inner, len(ts))
			e.writeTimes()
			write(e, values)
			return nil
		}
		if len(ts) == 1 {
			return ErrIdentityTooLarge
		}
	}
	// Each part begins a record, so that none has the series twice.
	half := len(ts) / 2
	e.seal()
	if err := appendPoints(e, source, ts[:half], values[:half], size, write); err != nil {
		return err
	}
	e.seal()
	return appendPoints(e, source, ts[half:], values[half:], size, write)
}

// fits reports whether a series of so many bytes and points has room in the current
// record, and whether it has in an empty one.
func (e *Encoder) fits(inner, points int) (now, alone bool) {
	size, r := sizeField(inner), &e.records[len(e.records)-1]
	used := len(e.buf) - r.start
	return used+size <= MaxRecordBytes && r.points+points <= maxPointsInRecord, len(e.head)+size <= MaxRecordBytes
}

// seal ends the current record, unless it is empty, and starts the next.
func (e *Encoder) seal() {
	if !e.records[len(e.records)-1].any {
		return
	}
	e.records = append(e.records, builtRecord{start: len(e.buf)})
	e.buf = append(e.buf, e.head...)
}

// open writes the beginning of a series message up to its identity.
func (e *Encoder) open(source uuid.UUID, inner, points int) {
	r := &e.records[len(e.records)-1]
	r.mixed = r.mixed || r.any && r.source != source
	r.source, r.any = source, true
	r.points += points
	e.buf = protowire.AppendVarint(append(e.buf, recordSeries), uint64(inner))
	e.buf = append(e.buf, e.series...)
}

// sizeField is the size of a length-delimited field with a one-byte tag.
func sizeField(n int) int { return 1 + protowire.SizeBytes(n) }

// appendIdentity appends the fields of a series that come before its points.
func appendIdentity(dst []byte, ref SeriesRef, id *Identity) []byte {
	if ref.ID != 0 {
		dst = binary.LittleEndian.AppendUint64(append(dst, seriesID), ref.ID)
	}
	dst = appendField(dst, seriesFingerprint, ref.Fingerprint[:])
	dst = appendField(dst, seriesSource, id.Source[:])
	dst = appendText(append(dst, seriesMetric), id.Metric)
	for i := range id.Tags {
		tag := &id.Tags[i]
		dst = protowire.AppendVarint(append(dst, seriesTag), uint64(sizeField(len(tag.Key))+sizeField(len(tag.Value))))
		dst = appendText(append(dst, tagKey), tag.Key)
		dst = appendText(append(dst, tagValue), tag.Value)
	}
	return append(dst, seriesKind, byte(id.Kind))
}

// appendDeltas appends strictly increasing times as the varints of the first and
// of each difference, in the unit.
func appendDeltas(dst []byte, ts []int64, unit int64) []byte {
	dst = slices.Grow(dst, len(ts)*binary.MaxVarintLen64)
	n := len(dst)
	b := dst[:cap(dst)]
	previous := int64(0)
	for _, t := range ts {
		n = putVarint(b, n, inUnits(t-previous, unit))
		previous = t
	}
	return b[:n]
}

// writeTimes writes the times in e.deltas.
func (e *Encoder) writeTimes() {
	if e.unit == 1 {
		e.buf = appendField(e.buf, seriesDeltas, e.deltas)
		return
	}
	e.buf = appendField(e.buf, seriesUnitDeltas, e.deltas)
	e.buf = protowire.AppendVarint(append(e.buf, seriesUnit), uint64(e.unit))
}

// numbersSize decides how numbers are written, and gives what they take.
func (e *Encoder) numbersSize(values []float64) int {
	var ok bool
	if e.decimal, e.scale, ok = packDecimals(e.decimal, values); !ok {
		e.decimal = e.decimal[:0]
		return sizeField(8 * len(values))
	}
	if e.scale == 0 {
		return sizeField(len(e.decimal))
	}
	return sizeField(len(e.decimal)) + 2
}

// writeNumbers writes them as it was decided.
func (e *Encoder) writeNumbers(values []float64) {
	if len(e.decimal) == 0 {
		e.buf = appendNumbers(e.buf, values)
		return
	}
	e.buf = appendField(e.buf, seriesDecimals, e.decimal)
	if e.scale > 0 {
		e.buf = append(e.buf, seriesScale, byte(e.scale))
	}
}

func appendNumbers(dst []byte, values []float64) []byte {
	dst = protowire.AppendVarint(append(dst, seriesValues), uint64(8*len(values)))
	n := len(dst)
	dst = slices.Grow(dst, 8*len(values))[:n+8*len(values)]
	b := dst[n:]
	for _, v := range values {
		binary.LittleEndian.PutUint64(b, math.Float64bits(v))
		b = b[8:]
	}
	return dst
}

func (*Encoder) textsSize(texts []string) int {
	size := 0
	for _, s := range texts {
		size += 1 + (bits.Len64(uint64(len(s)|1))+6)/7 + len(s)
	}
	return size
}

func (e *Encoder) writeTexts(texts []string) {
	for _, s := range texts {
		e.buf = appendText(append(e.buf, seriesText), s)
	}
}
