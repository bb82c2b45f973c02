package output

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded/engine"
)

func TestProgressWithoutATerminalShowsEachPhaseOnce(t *testing.T) {
	var out strings.Builder
	p := NewEngineProgress(&out, false)
	p.Show(engine.Event{Engine: "packages", Phase: "installing", Percent: 10, Detail: "numpy"})
	p.Show(engine.Event{Engine: "packages", Phase: "installing", Percent: 60, Detail: "pandas"})
	p.Show(engine.Event{Engine: "packages", Phase: "ready", Percent: 100, Elapsed: 3 * time.Second})
	require.Equal(t, "  packages    installing 10 %  numpy\n  packages    ready (3.0 s)\n", out.String())
}

func TestProgressOnATerminalRedrawsInPlace(t *testing.T) {
	var out strings.Builder
	p := NewEngineProgress(&out, true)
	p.Show(engine.Event{Engine: "kafka", Phase: "starting", Percent: -1})
	p.Show(engine.Event{Engine: "postgres", Phase: "starting", Percent: -1, Detail: strings.Repeat("x", 200)})
	require.Contains(t, out.String(), "\x1b[1A\x1b[2K  kafka       starting\n")
	for line := range strings.Lines(out.String()) {
		require.Less(t, len(line), 112)
	}
}
