package output

import (
	"fmt"
	"io"
	"time"
)

// Line shows progress. On a terminal it redraws one line; elsewhere it prints a line every
// printInterval.
type Line struct {
	out       io.Writer
	Terminal  bool
	printedAt time.Time
	drawn     bool
}

// printInterval is the time between two lines if the output is not a terminal.
const printInterval = 5 * time.Second

// NewLine creates a Line that writes to w.
func NewLine(w io.Writer) *Line {
	return &Line{out: w, Terminal: IsTerminal(w)}
}

// Show shows the state. If last is true, the state is final.
func (l *Line) Show(text string, last bool) {
	text = Printable(text)
	switch {
	case l.Terminal:
		_, _ = fmt.Fprintf(l.out, "\r\x1b[2K%s", text)
		l.drawn = true
	case last || time.Since(l.printedAt) >= printInterval:
		_, _ = fmt.Fprintln(l.out, text)
		l.printedAt = time.Now()
	}
	if last {
		l.Clear()
	}
}

// Print prints a line that is not redrawn.
func (l *Line) Print(format string, args ...any) {
	l.Clear()
	_, _ = fmt.Fprintln(l.out, Printable(fmt.Sprintf(format, args...)))
}

// Clear moves to a new line, below the redrawn one.
func (l *Line) Clear() {
	if l.drawn {
		_, _ = fmt.Fprintln(l.out)
	}
	l.drawn = false
}
