package clickhouse_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
	"github.com/livegraph/livegraph/test/testenv"
)

// chunkForm is a form of chunks that BenchmarkChunks compares.
type chunkForm struct {
	name, times, values string // codecs of the columns
	width               int64  // bytes of a time: 8 for microseconds, 4 for milliseconds after the hour
}

var chunkForms = []chunkForm{
	{"lz4", "Delta(8), LZ4", "LZ4", 8},
	{"zstd", "DoubleDelta, ZSTD", "ZSTD", 8},
	{"gorilla", "DoubleDelta, LZ4", "Gorilla, LZ4", 8},
	{"short", "Delta(4), LZ4", "LZ4", 4},
}

// timeOf returns the SQL type of a time, and its expression over a column us in microseconds.
func (f chunkForm) timeOf() (kind, expression string) {
	if f.width == 4 {
		return "UInt32", fmt.Sprintf("toUInt32(intDiv(us %% %d, 1000))", clickhouse.HourUS)
	}
	return "Int64", "us"
}

// BenchmarkChunks measures the prototype of docs/adr/0073-no-chunks.md: a row for each series and hour,
// with arrays of times and values, beside the rows of points. Chunks are decoded and aggregated in this
// process. The points are those of BenchmarkDashboardsOfPoints.
func BenchmarkChunks(b *testing.B) {
	if b.N > 1 {
		b.Skip("one iteration is enough: -benchtime 1x")
	}
	const series, inserts = 1000, 36
	db, address := open(b)
	fillTenMinutes(b, address, series, inserts)
	awaitMerges(b, address)
	c := &chunkBench{B: b, db: db, address: address}
	from, to := int64(t0), int64(t0)+5*3600*second
	c.readPoints(from, to)
	for _, form := range chunkForms {
		kind, expression := form.timeOf()
		testenv.QueryClickHouse(b, address, fmt.Sprintf(`CREATE TABLE chunks_%s (series UInt64, hour UInt32,
			times Array(%s) CODEC(%s), values Array(Float64) CODEC(%s)) ENGINE = MergeTree ORDER BY (series, hour)
			SETTINGS index_granularity_bytes = 131072, min_compress_block_size = 16384`,
			form.name, kind, form.times, form.values))
		began := time.Now()
		testenv.QueryClickHouse(b, address, fmt.Sprintf(`INSERT INTO chunks_%s
			SELECT series, hour, groupArray(%s), groupArray(value) FROM (
				SELECT series, toUInt32(intDiv(toUnixTimestamp64Micro(ts), %d)) AS hour, toUnixTimestamp64Micro(ts) AS us, value
				FROM points ORDER BY series, ts)
			GROUP BY series, hour ORDER BY series, hour SETTINGS max_threads = 1`, form.name, expression, clickhouse.HourUS))
		c.ReportMetric(float64(time.Since(began).Nanoseconds())/(series*inserts*600), form.name+"-pack-ns/point")
		c.readChunks(form, from, to)
		if form.width == 8 {
			c.joinChunks(form, from, to)
		}
	}
	testenv.QueryClickHouse(b, address, "OPTIMIZE TABLE points FINAL")
	for _, table := range []string{"points", "chunks_lz4", "chunks_zstd", "chunks_gorilla", "chunks_short"} {
		var bytes float64
		_, err := fmt.Sscan(testenv.QueryClickHouse(b, address, "SELECT sum(bytes_on_disk) FROM system.parts"+
			" WHERE active AND database = currentDatabase() AND table = '"+table+"'"), &bytes)
		require.NoError(b, err)
		b.ReportMetric(bytes/(series*inserts*600), table+"-B/point")
	}
}

type chunkBench struct {
	*testing.B
	db      *clickhouse.DB
	address string
}

// measure reports the median duration of 15 calls.
func (c *chunkBench) measure(name string, do func()) {
	c.Helper()
	var times []time.Duration
	for range 15 {
		began := time.Now()
		do()
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	c.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, name+"-p50-ms")
}

// readPoints measures the reader of the service.
func (c *chunkBench) readPoints(from, to int64) {
	c.Helper()
	r := timeseries.New(c.db)
	c.measure("points-raw-hour", func() {
		found, _, err := r.RawPoints(c.Context(), timeseries.RawQuery{
			Numbers: benchIDs(10), Range: timeseries.Range{FromUS: to - 3600*second, ToUS: to}, Limit: 1_000_000,
		})
		require.NoError(c, err)
		require.Len(c, found[benchIDs(1)[0]].TS, 3600)
	})
	for _, q := range []struct {
		name   string
		series int
		step   time.Duration
	}{{"avg-1m", 100, time.Minute}, {"avg-10s", 100, 10 * time.Second}, {"avg-1m-all", 1000, time.Minute}} {
		ask := timeseries.AggregateQuery{
			Range: timeseries.Range{FromUS: from, ToUS: to}, Limit: 1_000_000,
			Grid: timeseries.NewGrid(q.step, time.UTC, from, to), Functions: []timeseries.Function{timeseries.Avg},
			Series: benchIDs(q.series),
		}
		for s := range q.series {
			group := s
			if q.series == 1000 {
				group = 0
			}
			ask.Groups = append(ask.Groups, group)
		}
		c.measure("points-"+q.name, func() {
			_, _, err := r.Aggregate(c.Context(), ask)
			require.NoError(c, err)
		})
	}
}

// readChunks measures the same results from chunks.
func (c *chunkBench) readChunks(form chunkForm, from, to int64) {
	c.Helper()
	hours := [2]int64{from / clickhouse.HourUS, to/clickhouse.HourUS - 1}
	c.measure(form.name+"-raw-hour", func() {
		require.Equal(c, 36_000, c.eachChunk(form, benchIDs(10), [2]int64{hours[1], hours[1]}, func([]int64, []float64) {}))
	})
	for _, q := range []struct {
		name   string
		series int
		step   int64
	}{
		{"avg-1m", 100, clickhouse.MinuteUS}, {"avg-10s", 100, 10 * second}, {"avg-1m-all", 1000, clickhouse.MinuteUS},
	} {
		c.measure(form.name+"-"+q.name, func() {
			sums, counts := make([]float64, (to-from)/q.step), make([]float64, (to-from)/q.step)
			points := c.eachChunk(form, benchIDs(q.series), hours, func(times []int64, values []float64) {
				for i, us := range times {
					bucket := (us - from) / q.step
					sums[bucket] += values[i]
					counts[bucket]++
				}
			})
			require.Equal(c, q.series*5*3600, points)
		})
	}
}

// joinChunks measures the same averages in SQL, from rows into which ClickHouse unpacks the chunks.
func (c *chunkBench) joinChunks(form chunkForm, from, to int64) {
	c.Helper()
	for _, q := range []struct {
		name, by string
		series   int
		step     int64
	}{
		{"avg-10s", "series, ", 100, 10 * second}, {"avg-1m", "series, ", 100, clickhouse.MinuteUS},
		{"avg-1m-all", "", 1000, clickhouse.MinuteUS},
	} {
		statement := fmt.Sprintf("SELECT %s intDiv(us, %d) AS bucket, avg(value) FROM chunks_%s"+
			" ARRAY JOIN times AS us, values AS value WHERE series IN (%s) AND hour BETWEEN %d AND %d GROUP BY %s bucket"+
			" FORMAT RowBinary", q.by, q.step, form.name, clickhouse.IDArray(benchIDs(q.series)), from/clickhouse.HourUS,
			to/clickhouse.HourUS-1, q.by)
		c.measure(form.name+"-join-"+q.name, func() {
			require.NotEmpty(c, testenv.QueryClickHouse(c, c.address, statement))
		})
	}
}

// eachChunk calls visit for each chunk of series in some hours and returns the number of points.
func (c *chunkBench) eachChunk(
	form chunkForm, ids []uint64, hours [2]int64, visit func(times []int64, values []float64),
) (points int) {
	c.Helper()
	statement := fmt.Sprintf("SELECT hour, times, values FROM chunks_%s WHERE series IN (%s) AND hour BETWEEN %d AND %d"+
		" FORMAT RowBinary", form.name, clickhouse.IDArray(ids), hours[0], hours[1])
	u, err := url.Parse(c.address)
	require.NoError(c, err)
	u.RawQuery = url.Values{"database": {strings.TrimPrefix(u.Path, "/")}}.Encode()
	u.Path = "/"
	response, err := http.Post(u.String(), "text/plain", strings.NewReader(statement))
	require.NoError(c, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(c, http.StatusOK, response.StatusCode)
	r := chunkReader{B: c.B, body: bufio.NewReaderSize(response.Body, 1<<20)}
	var times []int64
	var values []float64
	for {
		hour, more := r.hour()
		if !more {
			return points
		}
		times, values = times[:0], values[:0]
		for column := r.column(form.width); len(column) > 0; column = column[form.width:] {
			us := int64(binary.LittleEndian.Uint32(column))*1000 + hour*clickhouse.HourUS
			if form.width == 8 {
				us = int64(binary.LittleEndian.Uint64(column))
			}
			times = append(times, us)
		}
		for column := r.column(8); len(column) > 0; column = column[8:] {
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(column)))
		}
		visit(times, values)
		points += len(times)
	}
}

// chunkReader reads chunks in the format RowBinary.
type chunkReader struct {
	*testing.B
	body *bufio.Reader
	raw  bytes.Buffer
}

func (r *chunkReader) hour() (hour int64, more bool) {
	var raw [4]byte
	_, err := io.ReadFull(r.body, raw[:])
	if errors.Is(err, io.EOF) {
		return 0, false
	}
	require.NoError(r, err)
	return int64(binary.LittleEndian.Uint32(raw[:])), true
}

// column returns the bytes of an array whose elements have a number of bytes.
func (r *chunkReader) column(width int64) []byte {
	n, err := binary.ReadUvarint(r.body)
	require.NoError(r, err)
	r.raw.Reset()
	_, err = io.CopyN(&r.raw, r.body, int64(n)*width)
	require.NoError(r, err)
	return r.raw.Bytes()
}
