package output

import (
	"fmt"
	"io"
	"time"
)

// Line says how something is going: on a terminal in one line that is
// redrawn, elsewhere by a line now and then.
type Line struct {
	out      io.Writer
	Terminal bool
	said     time.Time
	drawn    bool
}

// sayEvery is how often the state is printed where no line can be redrawn.
const sayEvery = 5 * time.Second

// NewLine returns a line on w.
func NewLine(w io.Writer) *Line {
	return &Line{out: w, Terminal: IsTerminal(w)}
}

// Show says the state; last: there is no later one.
func (l *Line) Show(text string, last bool) {
	text = Printable(text)
	switch {
	case l.Terminal:
		_, _ = fmt.Fprintf(l.out, "\r\x1b[2K%s", text)
		l.drawn = true
	case last || time.Since(l.said) >= sayEvery:
		_, _ = fmt.Fprintln(l.out, text)
		l.said = time.Now()
	}
	if last {
		l.Clear()
	}
}

// Say prints a line that stays.
func (l *Line) Say(format string, args ...any) {
	l.Clear()
	_, _ = fmt.Fprintln(l.out, Printable(fmt.Sprintf(format, args...)))
}

// Clear ends the line that is redrawn.
func (l *Line) Clear() {
	if l.drawn {
		_, _ = fmt.Fprintln(l.out)
	}
	l.drawn = false
}
