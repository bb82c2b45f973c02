package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/livegraph/livegraph/internal/app/output"
)

// linesInterval is the time between two lines if the view is not drawn in place.
const linesInterval = 10 * time.Second

// display shows the status, drawn in place below the notes, or as a line at times.
type display struct {
	out  io.Writer
	size func() (width, height int) // of the terminal; nil: lines

	mu      sync.Mutex
	drawn   int // lines on the terminal
	last    []string
	printed time.Time // last line
	closed  bool
}

// newDisplay returns a display that draws in place on a terminal, unless plain is true.
func newDisplay(out io.Writer, plain bool) *display {
	d := &display{out: out, printed: time.Now()}
	if file, ok := out.(*os.File); ok && output.IsTerminal(out) && !plain && os.Getenv("TERM") != "dumb" {
		d.size = func() (int, int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				return 80, 24
			}
			return width, height
		}
	}
	return d
}

// ANSI control sequences, ECMA-48 and DEC private modes.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	eraseBelow = "\r\x1b[J"
)

// refresh shows the status.
func (d *display) refresh(s *status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.size != nil:
		width, height := d.size()
		d.last = s.render(width, height-1) // the last line stays free for the cursor
		d.draw("")
	case time.Since(d.printed) >= linesInterval:
		d.printed = time.Now()
		_, _ = io.WriteString(d.out, s.summary()+"\n")
	}
}

// note prints a text that stays.
func (d *display) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text = strings.TrimRight(text, "\n") + "\n"
	if d.size != nil && !d.closed {
		d.draw(text)
		return
	}
	_, _ = io.WriteString(d.out, text)
}

// draw writes above over the old view and the view below it, in one write so that nothing flickers.
func (d *display) draw(above string) {
	up := ""
	if d.drawn > 0 {
		up = fmt.Sprintf("\x1b[%dA", d.drawn)
	}
	view := ""
	for _, line := range d.last {
		view += line + "\n"
	}
	d.drawn = len(d.last)
	_, _ = io.WriteString(d.out, hideCursor+up+eraseBelow+above+wrapOff+view+wrapOn)
}

// close leaves the last view and the cursor below it.
func (d *display) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size != nil && !d.closed {
		d.closed = true
		_, _ = io.WriteString(d.out, eraseBelow+showCursor)
	}
}
