package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// display is where the demo shows itself.
type display interface {
	// note writes a text that stays.
	note(text string)
	// refresh shows the moment.
	refresh(v view)
	// every is how often it wants to be refreshed.
	every() time.Duration
	// close leaves the output as it was found.
	close()
}

// newDisplay returns the view drawn in place for a terminal, else plain lines.
func newDisplay(out io.Writer, plain bool) display {
	colours := asciiPalette
	if speaksUTF8() {
		colours = unicodePalette
	}
	if file, ok := terminalOf(out); ok && !plain && os.Getenv("TERM") != "dumb" {
		return &screen{out: out, palette: colours, size: func() (int, int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				return 80, 24
			}
			return width, height
		}}
	}
	return &lines{out: out, palette: colours}
}

// terminalOf returns the file behind out if it is a terminal.
func terminalOf(out io.Writer) (*os.File, bool) {
	file, ok := out.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// speaksUTF8 reads the locale as C programs do: the first variable that is set.
func speaksUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToUpper(os.Getenv(name)); value != "" {
			return strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8")
		}
	}
	return false
}

// ANSI control sequences, ECMA-48 and DEC private modes.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	eraseBelow = "\r\x1b[J"
)

// screen redraws the view in place at the end of what was written before.
type screen struct {
	out     io.Writer
	size    func() (width, height int)
	palette palette

	mu     sync.Mutex
	drawn  int // lines of the view that stand on the terminal
	last   []string
	closed bool
}

func (s *screen) every() time.Duration { return time.Second }

func (s *screen) refresh(v view) {
	width, height := s.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	// The last line stays free for the cursor.
	s.last = v.render(width, height-1, s.palette)
	s.draw("")
}

func (s *screen) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = strings.TrimRight(text, "\n") + "\n"
	if s.closed {
		_, _ = io.WriteString(s.out, text)
		return
	}
	s.draw(text)
}

// draw writes above over the old view, and the view after it, in one write so
// that nothing flickers. Lines of the view are not wrapped; those above are.
func (s *screen) draw(above string) {
	var b strings.Builder
	b.WriteString(hideCursor)
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
	}
	b.WriteString(eraseBelow + above + wrapOff)
	for _, line := range s.last {
		b.WriteString(line + "\n")
	}
	b.WriteString(wrapOn)
	s.drawn = len(s.last)
	_, _ = io.WriteString(s.out, b.String()) // a terminal that is gone: nothing to do
}

// close leaves the last view standing and the cursor below it.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.drawn, s.last, s.closed = 0, nil, true
	_, _ = io.WriteString(s.out, eraseBelow+showCursor)
}

// lines writes a line now and then.
type lines struct {
	out     io.Writer
	palette palette
	mu      sync.Mutex
}

func (l *lines) every() time.Duration { return 10 * time.Second }

func (l *lines) refresh(v view) { l.note("demo: " + v.progress(l.palette)) }

func (l *lines) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.out, strings.TrimRight(text, "\n")+"\n")
}

func (l *lines) close() {}
