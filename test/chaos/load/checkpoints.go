package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// seriesRow is a series of the registry.
type seriesRow struct {
	id       uint64
	source   uuid.UUID
	metric   string
	isString bool
	tags     string
}

// pointRow is a point that a read of the ClickHouse table with FINAL returns.
type pointRow struct {
	series seriesRow
	us     int64
	value  float64
}

// checkPoints compares the stored points of a tenant with the answers, and retires sources that are
// old enough.
func (t *tenant) checkPoints(ctx context.Context, stores Stores) ([]Violation, error) {
	var found []Violation
	for _, f := range formats {
		s := t.sources.current[f]
		if s == nil {
			continue
		}
		wrong, err := t.checkSource(ctx, stores, s)
		if err != nil {
			return found, err
		}
		found = append(found, wrong...)
		if t.load.round-s.createdRound+1 < sourceRounds {
			continue
		}
		if err := t.retire(ctx, stores, s); err != nil {
			return found, err
		}
	}
	wrong, err := t.checkRetired(ctx, stores)
	return append(found, wrong...), err
}

func (t *tenant) checkSource(ctx context.Context, stores Stores, s *source) ([]Violation, error) {
	series, err := readSeries(ctx, stores, t.uuid, s.id)
	if err != nil {
		return nil, err
	}
	var found []Violation
	for _, one := range series {
		if err := one.check(t, s); err != nil {
			found = append(found, Violation{1, "a series is registered that nobody sent", err.Error()})
		}
	}
	stored, unreadable, err := readPoints(ctx, stores, series)
	if err != nil {
		return nil, err
	}
	found = append(found, unreadable...)
	conflicts, err := readConflicts(ctx, stores, series)
	if err != nil {
		return nil, err
	}
	found = append(found, conflicts...)
	found = append(found, s.compare(stored)...)
	read, err := t.queryPoints(ctx, s)
	if err != nil {
		return found, err
	}
	found = append(found, compareReads(s, stored, read)...)
	values, receipts := settledPoints(stored)
	s.settle(values, receipts)
	return found, nil
}

// check validates the metric, type and tags of a series.
func (one seriesRow) check(t *tenant, s *source) error {
	var tags map[string]string
	if err := json.Unmarshal([]byte(one.tags), &tags); err != nil || len(tags) != 1 || tags["place"] != t.canary {
		return fmt.Errorf("series %d of source %s has the tags %s", one.id, s.id, one.tags)
	}
	if one.metric == receiptMetric && !one.isString {
		return nil
	}
	for metric := range metricsPerSource {
		if one.metric == fmt.Sprintf("m%d-%s", metric, t.canary) && one.isString == (metric == metricsPerSource-1) {
			return nil
		}
	}
	return fmt.Errorf("series %d of source %s is of metric %q, text %t", one.id, s.id, one.metric, one.isString)
}

func readSeries(ctx context.Context, stores Stores, workspace, source uuid.UUID) ([]seriesRow, error) {
	found, err := stores.Postgres.Query(
		ctx, `SELECT id, source_id, metric, kind = 2, tags::text FROM series WHERE workspace_id = $1 AND source_id = $2`,
		workspace, source,
	)
	if err != nil {
		return nil, fmt.Errorf("reading the registry of series: %w", err)
	}
	return pgx.CollectRows(found, func(row pgx.CollectableRow) (one seriesRow, err error) {
		var id int64
		err = row.Scan(&id, &one.source, &one.metric, &one.isString, &one.tags)
		one.id = uint64(id)
		return one, err
	})
}

// table returns the table of the series' points.
func (one seriesRow) table() string {
	if one.isString {
		return "states"
	}
	return "points"
}

// byTable returns the ids of series by the table of their points, and all series by id.
func byTable(series []seriesRow) (ids map[string][]uint64, byID map[uint64]seriesRow) {
	ids, byID = map[string][]uint64{}, map[uint64]seriesRow{}
	for _, one := range series {
		ids[one.table()] = append(ids[one.table()], one.id)
		byID[one.id] = one
	}
	return ids, byID
}

// readPoints reads the points of series, and returns a violation for each string value that was not
// sent.
func readPoints(
	ctx context.Context, stores Stores, series []seriesRow,
) (stored []pointRow, found []Violation, err error) {
	tables, byID := byTable(series)
	for table, ids := range tables {
		var rows []struct {
			Series uint64 `ch:"series"`
			US     int64  `ch:"us"`
			Value  string `ch:"value"`
		}
		err := stores.ClickHouse.Select(
			ctx, &rows,
			`SELECT series, toUnixTimestamp64Micro(ts) AS us, toString(value) AS value FROM `+table+` FINAL WHERE series IN (?)`,
			ids,
		)
		if err != nil {
			return nil, nil, fmt.Errorf("reading points: %w", err)
		}
		for _, row := range rows {
			number, err := strconv.ParseFloat(row.Value[strings.LastIndexByte(row.Value, ' ')+1:], 64)
			if err != nil {
				found = append(found, Violation{1, "a point has a text that nobody sent", fmt.Sprintf(
					"series %d at %d: %q", row.Series, row.US, row.Value,
				)})
				continue
			}
			stored = append(stored, pointRow{byID[row.Series], row.US, number})
		}
	}
	return stored, found, nil
}

// readConflicts returns versions of a point that have several values: a record that was read again
// with another result.
func readConflicts(ctx context.Context, stores Stores, series []seriesRow) (found []Violation, err error) {
	tables, _ := byTable(series)
	for table, ids := range tables {
		var rows []struct {
			Series  uint64 `ch:"series"`
			US      int64  `ch:"us"`
			Version uint64 `ch:"version"`
			Values  string `ch:"all"`
		}
		err := stores.ClickHouse.Select(
			ctx, &rows, `SELECT series, toUnixTimestamp64Micro(ts) AS us, version, toString(groupUniqArray(value)) AS all
			FROM `+table+` WHERE series IN (?) GROUP BY series, ts, version HAVING uniqExact(value) > 1 LIMIT 5`, ids,
		)
		if err != nil {
			return nil, fmt.Errorf("reading versions of points: %w", err)
		}
		for _, row := range rows {
			found = append(found, Violation{2, "one version of a point has several values", fmt.Sprintf(
				"series %d at %d, version %d: %s", row.Series, row.US, row.Version, row.Values,
			)})
		}
	}
	return found, nil
}

// maxShown bounds the violations of one kind that a comparison reports.
const maxShown = 5

// appendLimited appends a violation unless found already contains maxShown of its kind.
func appendLimited(found []Violation, v Violation) []Violation {
	n := 0
	for _, other := range found {
		if other.What == v.What {
			n++
		}
	}
	if n >= maxShown {
		return found
	}
	return append(found, v)
}

// compare compares the stored points with the model.
func (s *source) compare(stored []pointRow) (found []Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, receipts := map[point]int{}, map[float64]int{}
	for _, row := range stored {
		if row.series.metric == receiptMetric {
			receipts[row.value]++
			continue
		}
		p := point{row.series.metric, row.series.isString, row.us}
		if seen[p]++; seen[p] > 1 {
			found = appendLimited(found, Violation{1, "a point stands more than once", fmt.Sprintf("source %s, %+v", s.id, p)})
			continue
		}
		r := s.points[p]
		switch {
		case r == nil:
			found = appendLimited(found, Violation{1, "a point stands that nobody was told is stored", fmt.Sprintf(
				"source %s (%s), %+v = %v", s.id, s.format, p, row.value,
			)})
		case !r.allows(row.value):
			found = appendLimited(found, Violation{3, "a point has not the value that was accepted last", fmt.Sprintf(
				"source %s (%s), %+v = %v, not one of %v", s.id, s.format, p, row.value, r.allowed(),
			)})
		}
	}
	for p, r := range s.points {
		if seen[p] == 0 && !r.allows(absent()) {
			found = appendLimited(found, Violation{1, "a point that was answered 201 is lost", fmt.Sprintf(
				"source %s (%s), %+v = %v", s.id, s.format, p, r.allowed(),
			)})
		}
	}
	return append(found, s.compareReceipts(receipts)...)
}

func (s *source) compareReceipts(stored map[float64]int) (found []Violation) {
	for v, times := range stored {
		switch _, known := s.receipts[v]; {
		case !known:
			found = appendLimited(found, Violation{
				1, "a point without a time stands that nobody sent", fmt.Sprintf("source %s: %v", s.id, v),
			})
		case times > 1:
			found = appendLimited(found, Violation{
				1, "a request with an Idempotency-Key has stored its point more than once",
				fmt.Sprintf("source %s: %v, %d times", s.id, v, times),
			})
		}
	}
	for v, r := range s.receipts {
		if r.required && stored[v] == 0 {
			found = appendLimited(found, Violation{
				1, "a point without a time that was answered 201 is lost", fmt.Sprintf("source %s: %v", s.id, v),
			})
		}
	}
	return found
}

// settledPoints returns the values that the model is reduced to.
func settledPoints(stored []pointRow) (values map[point]float64, receipts map[float64]int) {
	values, receipts = map[point]float64{}, map[float64]int{}
	for _, row := range stored {
		if row.series.metric == receiptMetric {
			receipts[row.value]++
		} else {
			values[point{row.series.metric, row.series.isString, row.us}] = row.value
		}
	}
	return values, receipts
}

// apiPoints are the points of a source that the API returns, and their number and sum.
type apiPoints struct {
	points map[point]float64
	count  float64 // of numeric points
	sum    float64
}

// queryPoints reads the points of a source from the API, one by one and aggregated.
func (t *tenant) queryPoints(ctx context.Context, s *source) (apiPoints, error) {
	r := apiPoints{points: map[point]float64{}}
	span := url.Values{"sourceId": {s.id.String()}, "from": {firstPoint.Format(time.RFC3339)}, "to": {
		time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339),
	}}
	span.Set("epoch", "us")
	span.Set("pointsLimit", "1000000")
	var raw []struct {
		Metric string
		Kind   string
		Points [][2]json.RawMessage
	}
	if err := t.query(ctx, span, &raw); err != nil {
		return r, err
	}
	for _, series := range raw {
		for _, cells := range series.Points {
			us, err := strconv.ParseInt(string(cells[0]), 10, 64)
			if err != nil {
				return r, fmt.Errorf("a time of source %s: %w", s.id, err)
			}
			text := strings.Trim(string(cells[1]), `"`)
			number, err := strconv.ParseFloat(text[strings.LastIndexByte(text, ' ')+1:], 64)
			if err != nil {
				return r, fmt.Errorf("a value of source %s: %w", s.id, err)
			}
			r.points[point{series.Metric, series.Kind == "string", us}] = number
		}
	}
	span.Del("pointsLimit")
	span.Set("aggregation", "count,sum")
	span.Set("groupBy", "none")
	var sums []struct{ Points [][3]*float64 }
	if err := t.query(ctx, span, &sums); err != nil {
		return r, err
	}
	if len(sums) > 0 && len(sums[0].Points) > 0 {
		if row := sums[0].Points[0]; row[1] != nil && row[2] != nil {
			r.count, r.sum = *row[1], *row[2]
		}
	}
	return r, nil
}

var errRefused = errors.New("refused")

func (t *tenant) query(ctx context.Context, q url.Values, data any) error {
	a, err := t.load.client.doUntilAnswered(ctx, call{
		key: t.admin, method: http.MethodGet, path: "/api/live-data/query?" + q.Encode(),
	})
	switch {
	case err != nil:
		return err
	case a.Status != http.StatusOK:
		return fmt.Errorf("%w: query %v: %d %s", errRefused, q, a.Status, a.Error.Message)
	}
	return a.decodeData(data)
}

// compareReads compares the points that the API returns with the stored ones.
func compareReads(s *source, stored []pointRow, read apiPoints) (found []Violation) {
	count, sum, n := 0.0, 0.0, 0
	for _, row := range stored {
		if !row.series.isString {
			count++
			sum += row.value
		}
		n++
		p := point{row.series.metric, row.series.isString, row.us}
		if got, ok := read.points[p]; !ok || got != row.value {
			found = appendLimited(found, Violation{1, "the API gives a point otherwise than it stands", fmt.Sprintf(
				"source %s, %+v: %v, there: %t; stands as %v", s.id, p, got, ok, row.value,
			)})
		}
	}
	if len(read.points) != n {
		found = append(found, Violation{1, "the API gives another number of points than stand", fmt.Sprintf(
			"source %s: %d, not %d", s.id, len(read.points), n,
		)})
	}
	if read.count != count || math.Abs(read.sum-sum) > 1e-6*math.Abs(sum) {
		found = append(found, Violation{1, "the API counts or sums otherwise than what stands", fmt.Sprintf(
			"source %s: %v, sum %v; there are %v, sum %v", s.id, read.count, read.sum, count, sum,
		)})
	}
	return found
}
