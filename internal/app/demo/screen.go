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

// display shows the demo.
type display interface {
	note(text string) // a text that stays
	refresh(v view)
	every() time.Duration // between two refreshes
	close()               // restores the terminal
}

// newDisplay returns the view drawn in place for a terminal, else plain lines.
func newDisplay(out io.Writer, plain bool) display {
	p := asciiPalette
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // as C programs do: the first that is set
		if locale := strings.ToUpper(os.Getenv(name)); locale != "" {
			if strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8") {
				p = unicodePalette
			}
			break
		}
	}
	if file, ok := terminalOf(out); ok && !plain && os.Getenv("TERM") != "dumb" {
		return &screen{out: out, palette: p, size: func() (int, int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				return 80, 24
			}
			return width, height
		}}
	}
	return &lines{out: out, palette: p}
}

// terminalOf returns the file behind out if it is a terminal.
func terminalOf(out io.Writer) (*os.File, bool) {
	file, ok := out.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// ANSI control sequences, ECMA-48 and DEC private modes.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	wrapOff    = "\x1b[?7l"
	wrapOn     = "\x1b[?7h"
	eraseBelow = "\r\x1b[J"
)

// screen redraws the view in place below what was written before.
type screen struct {
	out     io.Writer
	size    func() (width, height int)
	palette palette

	mu     sync.Mutex
	drawn  int // lines on the terminal
	last   []string
	closed bool
}

func (s *screen) every() time.Duration { return time.Second }

func (s *screen) refresh(v view) {
	width, height := s.size()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = v.render(width, height-1, s.palette) // the last line stays free for the cursor
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

// draw writes above over the old view and the view below it, in one write so that nothing flickers.
func (s *screen) draw(above string) {
	up := ""
	if s.drawn > 0 {
		up = fmt.Sprintf("\x1b[%dA", s.drawn)
	}
	view := ""
	for _, line := range s.last {
		view += line + "\n"
	}
	s.drawn = len(s.last)
	_, _ = io.WriteString(s.out, hideCursor+up+eraseBelow+above+wrapOff+view+wrapOn)
}

// close leaves the last view and the cursor below it.
func (s *screen) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.drawn, s.last, s.closed = 0, nil, true
		_, _ = io.WriteString(s.out, eraseBelow+showCursor)
	}
}

// lines writes a line every ten seconds.
type lines struct {
	out     io.Writer
	palette palette
	mu      sync.Mutex
}

func (l *lines) every() time.Duration { return 10 * time.Second }
func (l *lines) refresh(v view)       { l.note("demo: " + v.progress(l.palette)) }
func (l *lines) close()               {}

func (l *lines) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.out, strings.TrimRight(text, "\n")+"\n")
}
