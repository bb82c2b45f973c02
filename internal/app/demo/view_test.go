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

func sampleStatus() *status {
	v := &status{
		address: "http://127.0.0.1:8080", up: 3*time.Minute + 21*time.Second, sent: 24310,
		waiting: 236, rejected: 3, dropped: 0,
		ingest:  latencies{5 * time.Millisecond, 3100 * time.Microsecond},
		visible: latencies{183 * time.Millisecond, 121 * time.Millisecond},
		trouble: "The store of points is not available",
		nodes:   312, edges: 1188, changes: 1540,
	}
	for i := range maxHistory {
		v.cpu = append(v.cpu, float64(i%23)*4)
	}
	v.values = [][]value{{
		{"cpu", "percent", 23.41}, {"cpu waiting for disk", "percent", 0.4}, {"memory", "percent", 41.25},
		{"memory available", "bytes", 14.2 * (1 << 30)}, {"load, 1 minute", "", 1.327}, {"k10temp_tctl", "celsius", 45.25},
		{"disk /", "percent", 18.8}, {"disk /very/long/mount/point/of/some/volume", "percent", 100},
		{"vda read", "bytes/s", 0},
		{"vda written", "bytes/s", 1.25e6}, {"eth0 received", "bytes/s", 123456}, {"eth0 sent", "bytes/s", 999},
	}}
	for i := range 20 {
		v.programs = append(v.programs, program{
			name: fmt.Sprintf("program-%d", i), cpu: float64(100 - 5*i), rss: 1e6 * float64(i*i),
		})
	}
	v.programs[1].name = "a-program-with-quite-a-long-name-indeed"
	v.programs[2].name = "evil\x1b[2J\nname"
	return v
}

func TestTheViewGolden(t *testing.T) {
	for _, c := range []struct {
		name          string
		width, height int
	}{{"60", 60, 40}, {"80", 80, 24}, {"120", 120, 50}} {
		t.Run(c.name, func(t *testing.T) {
			lines := sampleStatus().render(c.width, c.height)
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
	empty, full := &status{address: "http://127.0.0.1:8080"}, sampleStatus()
	for width := 1; width < 200; width += 7 {
		for height := 1; height < 60; height += 5 {
			for _, v := range []*status{empty, full} {
				lines := v.render(width, height)
				require.LessOrEqual(t, len(lines), height)
				for _, line := range lines {
					require.LessOrEqual(t, utf8.RuneCountInString(line), width)
				}
			}
		}
	}
}

func TestTheSummaryIsOneLine(t *testing.T) {
	require.Equal(
		t,
		"The demo ran for 3m21s and sent 24,310 points; 3 were rejected, 0 dropped, 236 wait. Ingest is answered in 5ms "+
			"(p95), and points are visible 183ms (p95) after the answer. The machine's graph has 312 nodes and 1,188 edges, "+
			"of 1,540 changes. Last trouble: The store of points is not available.", sampleStatus().summary(),
	)
	empty := status{}
	require.Equal(t, "The demo ran for 0s and sent 0 points; 0 were rejected, 0 dropped, 0 wait.", empty.summary())
}

func TestTheScreenIsRedrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	s := &display{out: &out, size: func() (int, int) { return 80, 24 }}
	s.refresh(sampleStatus())
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

func TestWithoutATerminalALineIsWrittenAtTimes(t *testing.T) {
	var out bytes.Buffer
	d := newDisplay(&out, false)
	d.refresh(sampleStatus())
	require.Empty(t, out.String())
	d.printed = time.Now().Add(-linesInterval)
	d.refresh(sampleStatus())
	d.refresh(sampleStatus())
	require.Equal(t, sampleStatus().summary()+"\n", out.String())
}

func TestQuantitiesAreShort(t *testing.T) {
	for want, got := range map[string]string{
		"3.1ms":     duration(3100 * time.Microsecond),
		"120ms":     duration(120*time.Millisecond + 300*time.Microsecond),
		"4.2s":      duration(4210 * time.Millisecond),
		"3m5s":      duration(3*time.Minute + 5*time.Second),
		"26h3m0s":   duration(26*time.Hour + 3*time.Minute),
		"0":         english.Sprint(0),
		"999":       english.Sprint(999),
		"1,000":     english.Sprint(1000),
		"1,234,567": english.Sprint(1234567),
		"45 °C":     quantity(45.2, "celsius"),
		"41.2 %":    quantity(41.23, "percent"),
		"14.2 GiB":  quantity(14.2*(1<<30), "bytes"),
		"999 B/s":   quantity(999, "bytes/s"),
		"1.33":      quantity(1.327, ""),
	} {
		require.Equal(t, want, got)
	}
}

func TestTheSparklineShowsTheValuesFromZero(t *testing.T) {
	require.Equal(t, "▁▁▁", sparkline([]float64{0, 1, 1.2}), "noise is flat")
	require.Equal(t, "▅█", sparkline([]float64{50, 100}))
	require.Equal(t, "▁", sparkline([]float64{-5}))
}
