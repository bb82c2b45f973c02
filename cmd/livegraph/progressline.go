package main

import (
	"fmt"
	"io"
	"time"
)

// progressLine says how something is going: on a terminal in one line that is
// redrawn, elsewhere by a line now and then.
type progressLine struct {
	out      io.Writer
	terminal bool
	said     time.Time
	drawn    bool
}

// show says the state; last: there is no later one.
func (l *progressLine) show(text string, last bool) {
	text = printableText(text)
	switch {
	case l.terminal:
		_, _ = fmt.Fprintf(l.out, "\r\x1b[2K%s", text)
		l.drawn = true
	case last || time.Since(l.said) >= sayEvery:
		_, _ = fmt.Fprintln(l.out, text)
		l.said = time.Now()
	}
	if last {
		l.clear()
	}
}

// say prints a line that stays.
func (l *progressLine) say(format string, args ...any) {
	l.clear()
	_, _ = fmt.Fprintln(l.out, printableText(fmt.Sprintf(format, args...)))
}

// clear ends the line that is redrawn.
func (l *progressLine) clear() {
	if l.drawn {
		_, _ = fmt.Fprintln(l.out)
	}
	l.drawn = false
}
