package demo

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// update rewrites the golden files: go test ./internal/app/demo -run Golden -update.
var update = flag.Bool("update", false, "rewrite the golden files")

func sampleView() view {
	v := view{
		address: "http://127.0.0.1:8080", up: 3*time.Minute + 21*time.Second, sent: 24310, rate: 118.4,
		pending: 236, rejected: 3, dropped: 0, retries: 2,
		ingest:    latency{last: 3100 * time.Microsecond, p95: 5 * time.Millisecond, known: true},
		freshness: latency{last: 121 * time.Millisecond, p95: 183 * time.Millisecond, known: true},
		lag:       912 * time.Millisecond, lagKnown: true,
		trouble: "The store of points is not available", retryIn: 4 * time.Second,
	}
	v.graph = graphSize{nodes: 312, edges: 1188, changes: 1540}
	for i := range 100 {
		v.latest.cpu = append(v.latest.cpu, float64(i%23)*4)
	}
	v.latest.values = []value{
		{"cpu", "percent", 23.41}, {"cpu waiting for disk", "percent", 0.4}, {"memory", "percent", 41.25},
		{"memory available", "bytes", 14.2 * (1 << 30)}, {"load, 1 minute", "", 1.327}, {"k10temp_tctl", "celsius", 45.25},
		{"disk /", "percent", 18.8}, {"disk /very/long/mount/point/of/some/volume", "percent", 100},
		{"vda read", "bytes/s", 0},
		{"vda written", "bytes/s", 1.25e6}, {"eth0 received", "bytes/s", 123456}, {"eth0 sent", "bytes/s", 999},
	}
	for i := range 20 {
		v.latest.processes = append(v.latest.processes, program{
			name: fmt.Sprintf("program-%d", i), cpu: float64(100 - 5*i), rss: 1e6 * float64(i*i),
		})
	}
	v.latest.processes[1].name = "a-program-with-quite-a-long-name-indeed"
	v.latest.processes[2].name = "evil\x1b[2J\nname"
	return v
}

func TestTheViewGolden(t *testing.T) {
	for _, c := range []struct {
		name          string
		width, height int
		palette       palette
	}{
		{"60", 60, 40, unicodePalette}, {"80", 80, 24, unicodePalette}, {"120", 120, 50, unicodePalette},
		{"80-ascii", 80, 30, asciiPalette},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := sampleView()
			lines := v.render(c.width, c.height, c.palette)
			require.LessOrEqual(t, len(lines), c.height)
			for _, line := range lines {
				require.LessOrEqual(t, utf8.RuneCountInString(line), c.width, line)
				require.NotContains(t, line, "\x1b")
			}
			drawn := strings.Join(lines, "\n") + "\n"
			path := filepath.Join("testdata", "view-"+c.name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(drawn), 0o644))
			}
			golden, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(golden), drawn)
		})
	}
}

func TestTheViewFitsAnyTerminal(t *testing.T) {
	empty := view{address: "http://127.0.0.1:8080"}
	full := sampleView()
	for width := 1; width < 200; width += 7 {
		for height := 1; height < 60; height += 5 {
			for _, v := range []*view{&empty, &full} {
				lines := v.render(width, height, unicodePalette)
				require.LessOrEqual(t, len(lines), height)
				for _, line := range lines {
					require.LessOrEqual(t, utf8.RuneCountInString(line), max(width, widthMin))
				}
			}
		}
	}
}

func TestProgressIsOneLine(t *testing.T) {
	v := sampleView()
	require.Equal(
		t,
		"24,310 points sent (118/s), ingest p95 5.0 ms, visible p95 183 ms after the answer, lag 912 ms, graph of 312 nodes "+
			"and 1,188 edges, cpu 28.0 %, "+
			"236 waiting, 3 rejected, The store of points is not available", v.progress(asciiPalette),
	)
	empty := view{}
	require.Equal(t, "0 points sent (0/s)", empty.progress(asciiPalette))
}

func TestTheScreenIsRedrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, palette: asciiPalette, size: func() (int, int) { return 80, 24 }}
	v := sampleView()
	s.refresh(v)
	first := out.String()
	require.NotContains(t, first, "A"+eraseBelow, "nothing to go up over yet")
	rows := strings.Count(first, "\n")
	out.Reset()
	s.note("a note that stays")
	require.True(t, strings.HasPrefix(
		out.String(), hideCursor+fmt.Sprintf("\x1b[%dA", rows)+eraseBelow+"a note that stays\n",
	))
	require.Equal(t, rows+1, strings.Count(out.String(), "\n"), "the view is drawn again below the note")
	out.Reset()
	s.close()
	s.close()
	require.Equal(t, eraseBelow+showCursor, out.String())
	out.Reset()
	s.note("the summary")
	require.Equal(t, "the summary\n", out.String())
}

func TestQuantitiesAreShort(t *testing.T) {
	for want, got := range map[string]string{
		"0 B":       byteSize(0),
		"999 B":     byteSize(999),
		"0.98 KiB":  byteSize(1000),
		"1.00 KiB":  byteSize(1024),
		"14.2 GiB":  byteSize(14.2 * (1 << 30)),
		"512 MiB":   byteSize(512 << 20),
		"3.1 ms":    duration(3100 * time.Microsecond),
		"120 ms":    duration(120 * time.Millisecond),
		"4.2 s":     duration(4200 * time.Millisecond),
		"3m05s":     duration(3*time.Minute + 5*time.Second),
		"26h03m":    duration(26*time.Hour + 3*time.Minute),
		"0":         thousands(0),
		"999":       thousands(999),
		"1,000":     thousands(1000),
		"1,234,567": thousands(1234567),
		"-1,234":    thousands(-1234),
		"-123":      thousands(-123),
		"45 °C":     quantity(45.2, "celsius", unicodePalette),
	} {
		require.Equal(t, want, got)
	}
}

func TestTheSparklineShowsTheLastValuesFromZero(t *testing.T) {
	levels := unicodePalette.spark
	require.Equal(t, "▁▁▁", sparkline([]float64{0, 1, 1.2}, 10, levels), "noise is flat")
	require.Equal(t, "▅█", sparkline([]float64{5, 50, 100}, 2, levels))
	require.Empty(t, sparkline([]float64{1}, 0, levels))
	require.Equal(t, "▁", sparkline([]float64{-5}, 3, levels))
}
