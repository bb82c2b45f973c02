package rival

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/livegraph/livegraph/test/harness"
)

const (
	victoriaModule  = "github.com/VictoriaMetrics/VictoriaMetrics"
	victoriaProgram = victoriaModule + "/app/victoria-metrics"
	// victoriaPoll is long because a count reads every point.
	victoriaPoll = 200 * time.Millisecond
)

// VictoriaMetrics builds VictoriaMetrics' single binary from its module in the folder moduleDir, and
// starts it in its own directory. The first build requires the module proxy.
func VictoriaMetrics(tb testing.TB, moduleDir string) (*Rival, error) {
	tb.Helper()
	dir, address := tb.TempDir(), harness.FreeAddress(tb)
	program := filepath.Join(dir, "victoria-metrics")
	if out, err := inModule(tb, moduleDir, "build", "-o", program, victoriaProgram); err != nil {
		return nil, fmt.Errorf("building VictoriaMetrics: %w: %s", err, out)
	}
	version, err := inModule(tb, moduleDir, "list", "-m", "-f", "{{.Version}}", victoriaModule)
	if err != nil {
		return nil, fmt.Errorf("reading the version of VictoriaMetrics: %w: %s", err, version)
	}
	base := "http://" + address
	r := &Rival{
		Name: "victoriametrics", Version: strings.TrimPrefix(version, "v"), base: base, seen: victoriaPoints,
		poll:  victoriaPoll,
		Lines: base + "/write", Series: base + "/api/v1/import",
	}
	// Points older than the retention are dropped, and the timestamps are artificial. A count over all
	// points must be within the limits of samples and series.
	return r, r.run(tb, exec.Command(program, "-httpListenAddr="+address, "-storageDataPath="+filepath.Join(dir, "data"),
		"-retentionPeriod=100y", "-search.latencyOffset=0s", "-search.maxSamplesPerQuery=1000000000",
		"-search.maxUniqueTimeseries=3000000", "-search.maxQueryDuration=2m"), "/health")
}

func inModule(tb testing.TB, dir string, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// victoriaPoints counts the points of a measurement's series. Accepted points are visible after a
// flush, which takes seconds unless it is forced.
func victoriaPoints(ctx context.Context, r *Rival, load Load) (found, all int64, err error) {
	if _, err := r.get(ctx, "/internal/force_flush", nil); err != nil {
		return 0, load.Points, err
	}
	end := load.To.Add(-time.Millisecond)
	answer, err := r.get(ctx, "/api/v1/query", url.Values{
		"query": {fmt.Sprintf(
			`sum(count_over_time({__name__=~"%s_.*"}[%ds]))`, victoriaNames(load.Measurements),
			int64(load.To.Sub(load.From)/time.Second),
		)},
		"time": {strconv.FormatFloat(float64(end.UnixMilli())/1000, 'f', 3, 64)}, "nocache": {"1"},
	})
	if err != nil {
		return 0, load.Points, err
	}
	var counted struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := json.Unmarshal(answer, &counted); err != nil {
		return 0, load.Points, fmt.Errorf("victoriametrics answered %.300s: %w", answer, err)
	}
	if len(counted.Data.Result) == 0 {
		return 0, load.Points, nil
	}
	text, _ := counted.Data.Result[0].Value[1].(string)
	n, err := strconv.ParseFloat(text, 64)
	return int64(n), load.Points, err
}

// victoriaNames returns a regular expression for the measurements, whose names differ in the digits at the end. The
// length of a query is limited.
func victoriaNames(measurements []string) string {
	if len(measurements) < 100 {
		return "(" + strings.Join(measurements, "|") + ")"
	}
	return strings.TrimRight(measurements[0], "0123456789") + "[0-9]+"
}

// SeriesBody appends points in VictoriaMetrics' import format: one line of JSON per series, with times
// in ms. It is the format closest to Livegraph's JSON series.
func SeriesBody(b []byte, measurement string, series int, times []int64, values []float64) []byte {
	b = append(append(b, `{"metric":{"__name__":"`...), measurement...)
	b = append(b, `_m0","sensor":"`...)
	b = strconv.AppendInt(b, int64(series), 10)
	b = append(b, `"},"values":[`...)
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	b = append(b, `],"timestamps":[`...)
	for i, ms := range times {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, ms, 10)
	}
	return append(b, "]}\n"...)
}
