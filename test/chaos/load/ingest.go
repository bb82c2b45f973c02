package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	maxPointsPerWrite = 40
	metricsPerSource  = 3
	idempotencyKey    = "Idempotency-Key"
	// maxTries is how often a request is sent before its outcome is left open.
	maxTries = 5
)

// firstPoint is the first timestamp of each source; steps are one second.
var firstPoint = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)

// ingest writes to a source of the tenant, or deletes points of it.
func (t *tenant) ingest(ctx context.Context, dice *rand.Rand, f format) {
	s, err := t.currentSource(ctx, dice, f)
	if err != nil {
		return // the next call creates the source
	}
	switch roll := dice.IntN(100); {
	case roll < 6:
		t.removePoints(ctx, dice, s)
	case roll < 14:
		t.sendReceipt(ctx, dice, s)
	case roll < 22: // two concurrent writes of the same points
		var both sync.WaitGroup
		first, second := t.newWrite(dice, s), t.newWrite(dice, s)
		second.values = overlapping(second.values, first.values, t.load)
		dices := [2]*rand.Rand{rand.New(rand.NewPCG(dice.Uint64(), 1)), rand.New(rand.NewPCG(dice.Uint64(), 2))}
		both.Go(func() { t.send(ctx, dices[0], first) })
		both.Go(func() { t.send(ctx, dices[1], second) })
		both.Wait()
	default:
		t.send(ctx, dice, t.newWrite(dice, s))
	}
}

// currentSource returns the source of a format that is written to at present, and creates it if
// there is none.
func (t *tenant) currentSource(ctx context.Context, dice *rand.Rand, f format) (*source, error) {
	t.sources.mu.Lock()
	s := t.sources.current[f]
	t.sources.mu.Unlock()
	if s != nil {
		return s, nil
	}
	id := seededID(dice)
	name := fmt.Sprintf("%s-%s-%d-%s", t.canary, f, t.load.round, id.String()[:8])
	a, err := t.load.client.doUntilAnswered(ctx, call{
		key: t.admin, method: http.MethodPost, path: "/api/live-data/sources",
		header: map[string]string{idempotencyKey: "source-" + id.String()},
		body: body(map[string]any{
			"id": id, "name": name, "description": t.canary, "tags": map[string]string{t.canary: t.canary},
		}),
	})
	switch {
	case err != nil:
		return nil, err
	case a.Status != http.StatusCreated:
		t.load.findings.add(4, "a source that is new is refused", "%s: %d %s", name, a.Status, a.Error.Message)
		return nil, errUnknown
	}
	s = newSource(id, name, f, t.load.round)
	t.sources.mu.Lock()
	defer t.sources.mu.Unlock()
	if t.sources.current == nil {
		t.sources.current = map[format]*source{}
	}
	t.sources.current[f] = s
	return s, nil
}

// seededID returns a UUID that is determined by the seed.
func seededID(dice *rand.Rand) uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(dice.UintN(256))
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// write is a request that writes points.
type write struct {
	number int64
	source *source
	values []value
	bad    int // number of additional points that must be rejected
	key    string
}

// newWrite returns a write of new points, some that overwrite, and some that must be rejected.
func (t *tenant) newWrite(dice *rand.Rand, s *source) write {
	w := write{number: t.load.tick(), source: s}
	s.mu.Lock()
	for range 1 + dice.IntN(maxPointsPerWrite) {
		step := s.next
		if s.next > 0 && dice.IntN(4) == 0 {
			step = dice.Int64N(s.next)
		} else {
			s.next++
		}
		metric := dice.IntN(metricsPerSource)
		w.values = append(w.values, value{
			point: point{
				metric: fmt.Sprintf("m%d-%s", metric, t.canary), isString: metric == 2,
				us: firstPoint.Add(time.Duration(step) * time.Second).UnixMicro(),
			},
			number: float64(t.load.tick()),
		})
	}
	s.mu.Unlock()
	w.values = lastPerPoint(w.values)
	if dice.IntN(6) == 0 {
		w.bad = 1 + dice.IntN(3)
	}
	if dice.IntN(2) == 0 {
		w.key = fmt.Sprintf("%s-%d-%d", t.canary, t.load.round, w.number)
	}
	return w
}

// lastPerPoint removes points that occur again later in the request, so that each point has one
// value.
func lastPerPoint(values []value) []value {
	last := map[point]int{}
	for i, v := range values {
		last[v.point] = i
	}
	kept := values[:0]
	for i, v := range values {
		if last[v.point] == i {
			kept = append(kept, v)
		}
	}
	return kept
}

// overlapping returns new values for the points of values and half of those of others.
func overlapping(values, others []value, l *Load) []value {
	for _, v := range others[:len(others)/2] {
		values = append(values, value{point: v.point, number: float64(l.tick())})
	}
	return lastPerPoint(values)
}

// send sends a write until it is answered or retries end, and records the outcome.
func (t *tenant) send(ctx context.Context, dice *rand.Rand, w write) {
	w.source.begin(w.number, t.load.tick(), w.values)
	q := w.request(t)
	a, straggler := t.sendWithRetries(ctx, dice, q)
	done := a != nil && a.Status == http.StatusCreated
	w.source.end(w.number, t.load.tick(), w.values, done, straggler)
	if a == nil {
		return
	}
	var reply struct {
		Accepted, Rejected int
		Errors             []struct{ Count int }
	}
	if !done {
		t.load.findings.add(
			1, "good points are refused", "%d points of source %s by %s: %d %s", len(w.values), w.source.id, a.RequestID,
			a.Status, a.Error.Message,
		)
		return
	}
	counted := 0
	if err := a.decodeData(&reply); err == nil {
		for _, e := range reply.Errors {
			counted += e.Count
		}
	}
	if reply.Accepted != len(w.values) || reply.Rejected != w.bad || counted != w.bad {
		t.load.findings.add(
			1, "an ingest says otherwise than what was sent", "%s: %d good and %d bad points were sent: %s", a.RequestID,
			len(w.values), w.bad, clip(a.Body),
		)
	}
}

// sendWithRetries sends a request up to maxTries times. It returns nil if there is no answer;
// straggler means that an unanswered attempt may still take effect.
func (t *tenant) sendWithRetries(ctx context.Context, dice *rand.Rand, q call) (a *answer, straggler bool) {
	for tries := range maxTries {
		a, err := t.load.client.do(ctx, q)
		if !outcomeUnknown(a, err) {
			return a, straggler
		}
		straggler = true
		if dice.IntN(5) == 0 || !sleep(ctx, time.Duration(20<<tries)*time.Millisecond) {
			break
		}
	}
	return nil, true
}

// request returns the request of a write, in the format of its source.
func (w write) request(t *tenant) call {
	q := call{key: t.admin, method: http.MethodPost, path: "/api/live-data/ingest", header: map[string]string{}}
	if w.key != "" {
		q.header[idempotencyKey] = w.key
	}
	tags := map[string]string{"place": t.canary}
	switch w.source.format {
	case rows:
		points := []map[string]any{}
		for _, v := range w.values {
			points = append(points, map[string]any{
				"sourceId": w.source.id, "metric": v.metric, "timestamp": v.us / 1000, "value": v.payload(t), "tags": tags,
			})
		}
		for i := range w.bad {
			points = append(points, w.badPoint(i, tags))
		}
		q.body = body(map[string]any{"points": points})
	case columns:
		q.body = body(map[string]any{"sourceId": w.source.id, "tags": tags, "series": w.columns(t)})
	case lines:
		q.header["Content-Type"] = "text/plain; charset=utf-8"
		q.path += "?precision=ms"
		var text strings.Builder
		for _, v := range w.values {
			field := fmt.Sprintf("%v", v.number)
			if v.isString {
				field = fmt.Sprintf("%q", v.payload(t))
			}
			fmt.Fprintf(&text, "%s,place=%s %s=%s %d\n", w.source.name, t.canary, v.metric, field, v.us/1000)
		}
		for range w.bad {
			fmt.Fprintf(&text, "%s,place=%s bad=%v %d\n", w.source.name, t.canary, badValue, farFuture)
		}
		q.body = []byte(text.String())
	}
	return q
}

const (
	// badValue is the value of points that must be rejected: it must not be stored.
	badValue = -666
	// farFuture is a timestamp that is not accepted, in milliseconds: the year 2200.
	farFuture = 7258118400000
)

// payload returns the value for the request.
func (v value) payload(t *tenant) any {
	if v.isString {
		return stringValue(v.number, t.canary)
	}
	return v.number
}

// stringValue returns the string that encodes a number in points with string values.
func stringValue(number float64, canary string) string {
	return fmt.Sprintf("%s %.0f", canary, number)
}

// badPoint returns a point that must be rejected.
func (w write) badPoint(i int, tags map[string]string) map[string]any {
	bad := map[string]any{
		"sourceId": w.source.id, "metric": "bad", "timestamp": firstPoint.UnixMilli(), "value": badValue, "tags": tags,
	}
	switch i {
	case 0:
		bad["timestamp"] = farFuture
	case 1:
		bad["sourceId"] = uuid.Max // unknown source
	default:
		bad["value"] = strings.Repeat("x", 2000)
	}
	return bad
}

// columns returns the series of a request in the format columns.
func (w write) columns(t *tenant) []map[string]any {
	type series struct {
		times  []int64
		values []any
	}
	all := map[string]*series{}
	var order []string
	for _, v := range w.values {
		s := all[v.metric]
		if s == nil {
			s = &series{}
			all[v.metric] = s
			order = append(order, v.metric)
		}
		s.times, s.values = append(s.times, v.us/1000), append(s.values, v.payload(t))
	}
	var list []map[string]any
	for _, metric := range order {
		list = append(list, map[string]any{"metric": metric, "timestamps": all[metric].times, "values": all[metric].values})
	}
	if w.bad > 0 {
		bad := &series{}
		for range w.bad {
			bad.times, bad.values = append(bad.times, farFuture), append(bad.values, badValue)
		}
		list = append(list, map[string]any{"metric": "bad", "timestamps": bad.times, "values": bad.values})
	}
	return list
}

// removePoints deletes the points of a metric in a random time range.
func (t *tenant) removePoints(ctx context.Context, dice *rand.Rand, s *source) {
	s.mu.Lock()
	newest := s.next
	s.mu.Unlock()
	if newest == 0 {
		return
	}
	from := firstPoint.Add(time.Duration(dice.Int64N(newest)) * time.Second)
	to := from.Add(time.Duration(1+dice.IntN(20)) * time.Second)
	deletion := removal{
		write: t.load.tick(), metric: fmt.Sprintf("m%d-%s", dice.IntN(metricsPerSource), t.canary),
		from: from.UnixMicro(), to: to.UnixMicro(),
	}
	s.beginRemoval(deletion, t.load.tick())
	query := url.Values{
		"sourceId": {s.id.String()}, "metric": {deletion.metric}, "from": {from.Format(time.RFC3339)},
		"to": {to.Format(time.RFC3339)},
	}
	a, straggler := t.sendWithRetries(ctx, dice, call{
		key: t.admin, method: http.MethodDelete, path: "/api/live-data/points?" + query.Encode(),
	})
	done := a != nil && a.Status == http.StatusAccepted
	s.endRemoval(deletion, t.load.tick(), done, straggler)
	if a != nil && !done {
		t.load.findings.add(
			1, "a deletion of points is refused", "source %s, %s: %d %s", s.id, a.RequestID, a.Status, a.Error.Message,
		)
	}
}
