package output

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/embedded/engine"
)

// EngineProgress shows the progress of the engines. On a terminal it redraws one line per
// engine; elsewhere it prints a line for each new phase.
type EngineProgress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	order    []string
	last     map[string]engine.Event
	drawn    int // number of lines on the terminal
}

// NewEngineProgress creates an EngineProgress that writes to out.
func NewEngineProgress(out io.Writer, terminal bool) *EngineProgress {
	return &EngineProgress{out: out, terminal: terminal, last: map[string]engine.Event{}}
}

// Show shows an event. It is safe for concurrent use.
func (p *EngineProgress) Show(e engine.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.last[e.Engine]
	if !known {
		p.order = append(p.order, e.Engine)
	}
	p.last[e.Engine] = e
	if p.terminal {
		p.redraw()
		return
	}
	if !known || before.Phase != e.Phase {
		_, _ = fmt.Fprintln(p.out, p.line(e))
	}
}

func (p *EngineProgress) redraw() {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	for _, name := range p.order {
		fmt.Fprintf(&b, "\x1b[2K%s\n", p.line(p.last[name]))
	}
	p.drawn = len(p.order)
	_, _ = io.WriteString(p.out, b.String())
}

func (p *EngineProgress) line(e engine.Event) string {
	text := fmt.Sprintf("  %-11s %s", e.Engine, e.Phase)
	if e.Percent >= 0 && e.Percent < 100 {
		text += fmt.Sprintf(" %d %%", e.Percent)
	}
	if e.Elapsed >= 100*time.Millisecond {
		text += fmt.Sprintf(" (%.1f s)", e.Elapsed.Seconds())
	}
	if e.Detail != "" {
		text += "  " + e.Detail
	}
	if p.terminal && len(text) > 100 { // a wrapped line could not be redrawn
		text = text[:100]
	}
	return text
}
