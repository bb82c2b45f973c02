package livegraph

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"time"
	"unicode/utf8"
)

// buffer has the points of a writer in the order in which they were written, and counts those that are settled:
// stored or reported. It does not wait, and is not safe for concurrent use.
type buffer struct {
	batchSize int
	interval  time.Duration

	queue      []queued
	lastStamp  int64 // of points without a timestamp
	sending    int
	written    int
	settled    int
	flushUntil int
}

type queued struct {
	added time.Time
	point Point
}

// held returns the number of points that are queued or being sent.
func (b *buffer) held() int { return len(b.queue) + b.sending }

// complete returns the point with a timestamp in microseconds. Without a time, it is now, and at least a microsecond
// after the previous such point: points of a series with the same timestamp would replace each other.
func (b *buffer) complete(point Point, now time.Time) (Point, error) {
	if err := checkPoint(&point); err != nil {
		return point, err
	}
	point.Tags = maps.Clone(point.Tags) // the caller may change them
	switch at := point.Timestamp.(type) {
	case nil:
		b.lastStamp = max(now.UnixMicro(), b.lastStamp+1)
		point.Timestamp = b.lastStamp
	case time.Time:
		point.Timestamp = at.UnixMicro()
	case string:
	default:
		return point, fmt.Errorf("livegraph: a timestamp of type %T; use a time.Time", at)
	}
	return point, nil
}

// checkPoint checks what would be an error of the whole request, or would be stored as another text.
func checkPoint(point *Point) error {
	switch value := point.Value.(type) {
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Errorf("livegraph: the value %v is not finite", value)
		}
	case float32:
		if wide := float64(value); math.IsNaN(wide) || math.IsInf(wide, 0) {
			return fmt.Errorf("livegraph: the value %v is not finite", value)
		}
	case string:
		if !utf8.ValidString(value) {
			return errors.New("livegraph: the value is not valid UTF-8")
		}
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
	default:
		return fmt.Errorf("livegraph: a value of type %T; use a number, a bool or a string", value)
	}
	valid := utf8.ValidString(point.Source) && utf8.ValidString(point.SourceID) && utf8.ValidString(point.Metric)
	for key, value := range point.Tags {
		valid = valid && utf8.ValidString(key) && utf8.ValidString(value)
	}
	if !valid {
		return errors.New("livegraph: the source, the metric or a tag is not valid UTF-8")
	}
	return nil
}

// add adds a point, and reports whether the time until the next batch may be another one.
func (b *buffer) add(point Point, now time.Time) bool {
	b.queue = append(b.queue, queued{now, point})
	b.written++
	return len(b.queue) == 1 || len(b.queue) >= b.batchSize
}

// flush makes all points due, and returns the number of settled points when they are stored or reported.
func (b *buffer) flush() int {
	b.flushUntil = b.written
	return b.written
}

// due returns the time until the next batch, 0 or less if it is due, and false if there are no points.
func (b *buffer) due(now time.Time) (wait time.Duration, ok bool) {
	if len(b.queue) == 0 {
		return 0, false
	}
	if len(b.queue) >= b.batchSize || b.settled < b.flushUntil {
		return 0, true
	}
	return b.queue[0].added.Add(b.interval).Sub(now), true
}

// take removes and returns the oldest points, up to the size of a batch.
func (b *buffer) take() []Point {
	b.sending = min(len(b.queue), b.batchSize)
	batch := make([]Point, b.sending)
	for i := range batch {
		batch[i] = b.queue[i].point
	}
	rest := copy(b.queue, b.queue[b.sending:])
	clear(b.queue[rest:])
	b.queue = b.queue[:rest]
	return batch
}

// settle counts the points that were taken as settled.
func (b *buffer) settle() {
	b.settled += b.sending
	b.sending = 0
}
