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

// ErrIdentityTooLarge is returned if a record cannot contain a series' identity and one point.
var ErrIdentityTooLarge = errors.New("pointblock: the series' identity does not fit into a record")

// ErrTimestamp is returned if a series has a time before 1970.
var ErrTimestamp = errors.New("pointblock: a timestamp is negative")

// Encoder builds the records for one partition from one request. It starts a new record when the
// current one is full, and splits a series that is larger than a record. It can be reused after Reset
// and then does not allocate in the steady state.
type Encoder struct {
	buf     []byte // all records, one after the other
	records []builtRecord
	header  []byte // first bytes of every record
	deltas  []byte // packed timestamps of the current series, in unit
	unit    int64
	decimal []byte // numbers of the current series, if encoded as decimals with scale
	scale   int
	series  []byte // encoded identity of the current series
	field   byte   // of the record, to which the current series is appended
	order   []timeIndex
	numbers []float64
	strings []string
}

// builtRecord describes a record in the buffer: its start, sources and number of points.
type builtRecord struct {
	start     int
	source    uuid.UUID
	mixed     bool // more than one source
	hasSeries bool // at least one series
	points    int
}

// Reset removes all records and starts the first one of a new request.
func (e *Encoder) Reset(workspace uuid.UUID, receivedAtUS int64) {
	e.header = appendHeader(e.header[:0], workspace, receivedAtUS)
	e.buf = append(e.buf[:0], e.header...)
	e.records = append(e.records[:0], builtRecord{})
}

func appendHeader(dst []byte, workspace uuid.UUID, receivedAtUS int64) []byte {
	dst = appendField(dst, recordWorkspace, workspace[:])
	if receivedAtUS != 0 {
		dst = protowire.AppendVarint(append(dst, recordReceivedAt), uint64(receivedAtUS))
	}
	return dst
}

// Len returns the total bytes of all records so far.
func (e *Encoder) Len() int { return len(e.buf) }

// Size estimates the memory of the encoder in bytes.
func (e *Encoder) Size() int {
	return cap(e.buf) + cap(e.deltas) + cap(e.decimal) + cap(e.series) +
		cap(e.order)*16 + cap(e.numbers)*8 + cap(e.strings)*16
}

// Empty reports whether no series has been appended since Reset.
func (e *Encoder) Empty() bool { return len(e.records) == 1 && !e.records[0].hasSeries }

// Bytes returns the current record, which is the only one unless the points did not fit into it. It is
// valid until the next call.
func (e *Encoder) Bytes() []byte { return e.buf[e.records[len(e.records)-1].start:] }

// AppendMessages appends one message for each record with points to dst. The messages are valid until
// the next Reset.
func (e *Encoder) AppendMessages(dst []Message, partition int32) []Message {
	for i := range e.records {
		r := &e.records[i]
		if !r.hasSeries {
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

// AppendNumbers appends points of one series of KindNumber, which must not have been appended since
// Reset. The columns must have the same length, and the values must be finite. They need not be
// sorted: AppendNumbers sorts them in place and keeps the last of several values with the same time.
func (e *Encoder) AppendNumbers(ref SeriesRef, id *Identity, ts []int64, values []float64) error {
	e.series = appendIdentity(e.series[:0], ref, id)
	return e.appendNumbers(id.Source, ts, values)
}

// appendNumbers appends points of the series whose identity is in e.series.
func (e *Encoder) appendNumbers(source uuid.UUID, ts []int64, values []float64) error {
	e.field = recordSeries
	if !increasing(ts) {
		n := sortColumns(&e.order, &e.numbers, ts, values)
		ts, values = ts[:n], values[:n]
	}
	return appendPoints(e, source, ts, values, (*Encoder).numbersSize, (*Encoder).writeNumbers)
}

// AppendSeriesHeader appends the encoded identity of a series to dst. Callers may cache it for
// AppendNumbersWithHeader, so that it need not be encoded again.
func AppendSeriesHeader(dst []byte, ref SeriesRef, id *Identity) []byte {
	return appendIdentity(dst, ref, id)
}

// Positions in an identity encoded by AppendSeriesHeader, of a series that has an id.
const (
	headerID          = 1
	headerFingerprint = headerID + 8 + 2
	headerSource      = headerFingerprint + 16 + 2
)

// HeaderRef returns the series whose identity AppendSeriesHeader encoded. The series has an id.
func HeaderRef(header string) (ref SeriesRef) {
	var id [8]byte
	copy(id[:], header[headerID:headerID+8])
	copy(ref.Fingerprint[:], header[headerFingerprint:headerFingerprint+16])
	ref.ID = binary.LittleEndian.Uint64(id[:])
	return ref
}

// HeaderSource is like HeaderRef, but returns the source of the series.
func HeaderSource(header string) (source uuid.UUID) {
	copy(source[:], header[headerSource:headerSource+16])
	return source
}

// AppendNumbersWithHeader appends points like AppendNumbers. series is the identity encoded by AppendSeriesHeader, of a
// series that has an id.
func (e *Encoder) AppendNumbersWithHeader(series string, ts []int64, values []float64) error {
	e.series = append(e.series[:0], series...)
	return e.appendNumbers(HeaderSource(series), ts, values)
}

// AppendStrings appends points of a series of texts like AppendNumbers.
func (e *Encoder) AppendStrings(ref SeriesRef, id *Identity, ts []int64, values []string) error {
	e.field = recordSeries
	return e.appendStrings(ref, id, ts, values)
}

// AppendExemplars appends exemplars of a series of KindSpecial like AppendStrings. Each text has those of a time; see
// package exemplar. They do not count as points of the series, which may have some in the same record.
func (e *Encoder) AppendExemplars(ref SeriesRef, id *Identity, ts []int64, texts []string) error {
	e.field = recordExemplars
	return e.appendStrings(ref, id, ts, texts)
}

func (e *Encoder) appendStrings(ref SeriesRef, id *Identity, ts []int64, values []string) error {
	e.series = appendIdentity(e.series[:0], ref, id)
	if !increasing(ts) {
		n := sortColumns(&e.order, &e.strings, ts, values)
		ts, values = ts[:n], values[:n]
	}
	err := appendPoints(e, id.Source, ts, values, (*Encoder).stringsSize, (*Encoder).writeStrings)
	clear(e.strings) // do not keep the caller's strings reachable
	return err
}

// maxPointsInRecord is the maximum number of points of a record, even if they are small: readers may
// have to allocate memory for all of them. More points are split before they are encoded, which keeps
// the scratch buffers small.
const maxPointsInRecord = MaxRecordBytes / 9

// appendPoints appends the points of the series whose identity is in e.series, in as many records as
// necessary. size encodes the values if necessary and returns the size of their fields, and write
// writes these.
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
		fits, fitsEmpty := e.fits(inner, len(ts))
		if fitsEmpty {
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
	// Each half starts a new record, so that no record has the series twice.
	half := len(ts) / 2
	e.seal()
	if err := appendPoints(e, source, ts[:half], values[:half], size, write); err != nil {
		return err
	}
	e.seal()
	return appendPoints(e, source, ts[half:], values[half:], size, write)
}

// fits reports whether a series with the given number of bytes and points fits into the current record,
// and whether it fits into an empty one.
func (e *Encoder) fits(inner, points int) (current, empty bool) {
	size, r := sizeField(inner), &e.records[len(e.records)-1]
	used := len(e.buf) - r.start
	return used+size <= MaxRecordBytes && r.points+points <= maxPointsInRecord, len(e.header)+size <= MaxRecordBytes
}

// seal ends the current record and starts the next, unless the current one is empty.
func (e *Encoder) seal() {
	if !e.records[len(e.records)-1].hasSeries {
		return
	}
	e.records = append(e.records, builtRecord{start: len(e.buf)})
	e.buf = append(e.buf, e.header...)
}

// open writes the start of a series message, including its identity.
func (e *Encoder) open(source uuid.UUID, inner, points int) {
	r := &e.records[len(e.records)-1]
	r.mixed = r.mixed || r.hasSeries && r.source != source
	r.source, r.hasSeries = source, true
	r.points += points
	e.buf = protowire.AppendVarint(append(e.buf, e.field), uint64(inner))
	e.buf = append(e.buf, e.series...)
}

// sizeField returns the size of a length-delimited field with a one-byte tag and n bytes.
func sizeField(n int) int { return 1 + protowire.SizeBytes(n) }

// appendIdentity appends the fields of a series that precede its points.
func appendIdentity(dst []byte, ref SeriesRef, id *Identity) []byte {
	if ref.ID != 0 {
		dst = binary.LittleEndian.AppendUint64(append(dst, seriesID), ref.ID)
	}
	dst = appendField(dst, seriesFingerprint, ref.Fingerprint[:])
	dst = appendField(dst, seriesSource, id.Source[:])
	dst = appendString(append(dst, seriesMetric), id.Metric)
	for i := range id.Tags {
		tag := &id.Tags[i]
		dst = protowire.AppendVarint(append(dst, seriesTag), uint64(sizeField(len(tag.Key))+sizeField(len(tag.Value))))
		dst = appendString(append(dst, tagKey), tag.Key)
		dst = appendString(append(dst, tagValue), tag.Value)
	}
	return append(dst, seriesKind, byte(id.Kind))
}

// appendDeltas appends strictly increasing times as varints: the first time and the differences, in
// units.
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

// numbersSize selects the encoding of numbers and returns the size of their fields.
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

// writeNumbers writes the numbers in the encoding that numbersSize selected.
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

func (*Encoder) stringsSize(values []string) int {
	size := 0
	for _, s := range values {
		size += 1 + (bits.Len64(uint64(len(s)|1))+6)/7 + len(s)
	}
	return size
}

func (e *Encoder) writeStrings(values []string) {
	for _, s := range values {
		e.buf = appendString(append(e.buf, seriesText), s)
	}
}
