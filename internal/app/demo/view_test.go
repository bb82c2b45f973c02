package demo

import (
	"bytes"
	"flag"
	"fmt"
	"io"
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
		Address: "http://127.0.0.1:8080", Up: 3*time.Minute + 21*time.Second, Sent: 24310,
		Waiting: 236, Rejected: 3, Dropped: 0,
		Ingest:  latencies{5 * time.Millisecond, 3100 * time.Microsecond},
		Visible: latencies{183 * time.Millisecond, 121 * time.Millisecond},
		Trouble: "The store of points is not available",
		Nodes:   312, Edges: 1188, Changes: 1540,
	}
	for i := range maxHistory {
		v.CPU = append(v.CPU, float64(i%23)*4)
	}
	v.Latest = map[string]map[string]float64{
		"cpu usage_percent": {"": 52}, "cpu iowait_percent": {"": 0.4}, "memory used_percent": {"": 41.25},
		"memory available_bytes": {"": 14.2 * (1 << 30)}, "load load1": {"": 1.327},
		"disk used_percent":          {"/": 18.8, "/very/long/mount/point/of/some/volume": 100},
		"disk read_bytes_per_second": {"vda": 0}, "disk written_bytes_per_second": {"vda": 1.25e6},
		"network received_bytes_per_second": {"eth0": 123456}, "network sent_bytes_per_second": {"eth0": 999},
		"processes cpu_percent": {}, "processes rss_bytes": {},
	}
	for i := range 20 {
		name := fmt.Sprintf("program-%d", i)
		switch i {
		case 1:
			name = "a-program-with-quite-a-long-name-indeed"
		case 2:
			name = "evil\x1b[2J\nname"
		}
		v.Latest["processes cpu_percent"][name] = float64(100 - 5*i)
		v.Latest["processes rss_bytes"][name] = 1e6 * float64(i*i)
	}
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
	empty, full := &status{Address: "http://127.0.0.1:8080"}, sampleStatus()
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

func TestTheTemplatesCanBeExecuted(t *testing.T) {
	for _, s := range []*status{{}, sampleStatus()} {
		require.NoError(t, templates.ExecuteTemplate(io.Discard, "view", s))
		require.NoError(t, templates.ExecuteTemplate(io.Discard, "summary", s))
	}
}

func TestTheSummaryIsOneLine(t *testing.T) {
	require.Equal(
		t,
		"The demo ran for 3m21s and sent 24,310 points; 3 were rejected, 0 dropped, 236 wait. Ingest is answered in 5ms "+
			"(p95), and points are visible 183ms (p95) after the answer. The machine's graph has 312 nodes and 1,188 edges, "+
			"of 1,540 changes. Last trouble: The store of points is not available.", text("summary", sampleStatus()),
	)
	empty := &status{}
	require.Equal(t, "The demo ran for 0s and sent 0 points; 0 were rejected, 0 dropped, 0 wait.", text("summary", empty))
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
	require.Equal(t, text("summary", sampleStatus())+"\n", out.String())
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
