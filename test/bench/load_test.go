// Package bench measures the whole service from outside, beside a baseline in
// the same run: what counts is the ratio, because machines differ and are noisy.
package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/control"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/test/harness"
)

// shape is what one request of the load holds.
type shape struct {
	series int // series a request
	points int // points a series in a request
}

func (s shape) size() int { return s.series * s.points }

// epoch is where the load's timestamps begin; each request goes on one step a
// second after the one before.
var epoch = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// body makes request number n: the same series each time, later timestamps.
func (s shape) body(sources []string, n int) []byte {
	var b bytes.Buffer
	b.Grow(s.size() * 24)
	b.WriteString(`{"series":[`)
	stamp := make([]byte, 0, 16)
	for i := range s.series {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sourceId":%q,"metric":"m%d","timestamps":[`, sources[i%len(sources)], i/len(sources))
		for p := range s.points {
			if p > 0 {
				b.WriteByte(',')
			}
			stamp = strconv.AppendInt(stamp[:0], epoch.UnixMilli()+int64(n*s.points+p)*1000, 10)
			b.Write(stamp)
		}
		b.WriteString(`],"values":[`)
		for p := range s.points {
			if p > 0 {
				b.WriteByte(',')
			}
			stamp = strconv.AppendFloat(stamp[:0], float64((i*7919+n*31+p*13)%100000)/100, 'f', -1, 64)
			b.Write(stamp)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// target is a started server with its sources.
type target struct {
	*harness.Server
	sources []string
}

func start(b *testing.B, sources int) *target {
	b.Helper()
	path, remove, err := harness.Build()
	require.NoError(b, err)
	b.Cleanup(remove)
	t := &target{Server: harness.New(b, path)}
	t.Start()
	for i := range sources {
		var source struct{ ID string }
		t.Do("POST", "/api/live-data/sources", map[string]any{"name": fmt.Sprintf("sensor-%d", i)}, http.StatusCreated, &source)
		t.sources = append(t.sources, source.ID)
	}
	return t
}

// ingest sends one body and gives its checkpoint. A 503 is waited out as it says.
func (t *target) ingest(b *testing.B, body []byte) string {
	for {
		a, err := t.Try("POST", "/api/live-data/ingest", body)
		require.NoError(b, err)
		if a.Status == http.StatusServiceUnavailable {
			after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
			time.Sleep(max(time.Duration(after)*time.Second, 100*time.Millisecond))
			continue
		}
		require.Equal(b, http.StatusCreated, a.Status, "%+v", a.Error)
		var accepted struct{ Checkpoint string }
		require.NoError(b, json.Unmarshal(a.Data, &accepted))
		return accepted.Checkpoint
	}
}

// waitVisible returns once the points behind the checkpoint are visible.
func (t *target) waitVisible(b *testing.B, checkpoint string) {
	q := url.Values{"checkpoint": {checkpoint}, "sourceId": t.sources[:1], "metric": {"none"}}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		a, err := t.Try("GET", "/api/live-data/query?"+q.Encode(), nil)
		require.NoError(b, err)
		if a.Status == http.StatusOK {
			return
		}
		require.Equal(b, http.StatusGatewayTimeout, a.Status, "%+v", a.Error)
		require.True(b, time.Now().Before(deadline), "the points did not become visible")
	}
}

// cpu gives the CPU seconds used so far by the server itself and by its engines
// (its descendants).
func (t *target) cpu(b *testing.B) (service, engines float64) {
	b.Helper()
	service = cpuSeconds(t.PID())
	entries, err := os.ReadDir("/proc")
	require.NoError(b, err)
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && descends(pid, t.PID()) {
			engines += cpuSeconds(pid)
		}
	}
	return service, engines
}

// stat gives the fields of /proc/PID/stat after the command's name.
func stat(pid int) []string {
	payload, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(payload[bytes.LastIndexByte(payload, ')')+1:]))
}

func cpuSeconds(pid int) float64 {
	fields := stat(pid)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // clock ticks; 100 a second on Linux
}

func descends(pid, ancestor int) bool {
	for range 10 {
		fields := stat(pid)
		if len(fields) < 2 {
			return false
		}
		parent, _ := strconv.Atoi(fields[1])
		if parent == ancestor {
			return true
		}
		if parent <= 1 {
			return false
		}
		pid = parent
	}
	return false
}

func percentile(durations []time.Duration, p float64) time.Duration {
	slices.Sort(durations)
	return durations[min(int(float64(len(durations))*p), len(durations)-1)]
}

// direct is the baseline: the same number of points, sorted, inserted by the
// driver straight into the engine that the server uses, with nothing before it.
func (t *target) direct(b *testing.B, s shape, requests int) (pointsPerSecond float64) {
	b.Helper()
	running, err := control.Read(t.DataDir)
	require.NoError(b, err)
	ctx := b.Context()
	admin, err := clickhouse.Open(ctx, running.ClickHouseURL)
	require.NoError(b, err)
	defer func() { _ = admin.Close() }()
	const batch = 1_000_000
	var columns clickhouse.PointColumns
	insert := func() {
		require.NoError(b, admin.InsertPoints(ctx, &columns))
		columns.Reset()
	}
	began := time.Now()
	var filling time.Duration
	for first := 0; first < requests; first += batch / s.size() {
		fill := time.Now()
		for i := range s.series {
			for p := range batch / s.series {
				columns.Series = append(columns.Series, uint64(i)+1)
				columns.TS = append(columns.TS, epoch.UnixMicro()+int64(first*s.points+p)*1_000_000)
				columns.Values = append(columns.Values, float64((i*7919+first*31+p*13)%100000)/100)
				columns.Versions = append(columns.Versions, uint64(first)+1)
			}
		}
		filling += time.Since(fill)
		insert()
	}
	return float64(requests*s.size()) / (time.Since(began) - filling).Seconds()
}
