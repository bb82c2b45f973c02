package chat

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Bounds of a stream.
const (
	maxEvent  = 64 << 10 // bytes of a line, and of the data of an event
	maxStream = 8 << 20  // bytes of a response
)

// errTooLong is the error of a response that exceeds a bound.
var errTooLong = errors.New("a line, an event or the whole answer is too long")

// events reads the events of a stream as the HTML standard defines them. It returns only their data: names and ids are
// not used by this API.
type events struct {
	in      *bufio.Reader
	read    int // bytes
	line    []byte
	begun   bool // the byte order mark was skipped
	afterCR bool // a line feed belongs to the line end before
}

func newEvents(in io.Reader) *events { return &events{in: bufio.NewReader(in)} }

// next returns the data of the next event. It is valid until the next call. After the last event the error is io.EOF;
// an event that the stream does not end is dropped, as the standard requires.
func (e *events) next() ([]byte, error) {
	var data []byte
	hasData := false
	for {
		line, err := e.readLine()
		switch {
		case err != nil:
			return nil, err
		case len(line) == 0 && len(data) > 0:
			return data, nil
		case len(line) == 0:
			hasData = false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "data" { // also comments, whose name is empty
			continue
		}
		if hasData {
			data = append(data, '\n')
		}
		data, hasData = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
		if len(data) > maxEvent {
			return nil, errTooLong
		}
	}
}

// readLine returns the next line without its end. It does not read beyond the end of the line, because the next byte
// may be sent much later.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		b, err := e.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if e.read++; e.read > maxStream {
			return nil, errTooLong
		}
		wasCR := e.afterCR
		e.afterCR = b == '\r'
		switch {
		case b == '\n' && wasCR && len(e.line) == 0:
			continue
		case b == '\n' || b == '\r':
			line := e.line
			if !e.begun {
				line, e.begun = bytes.TrimPrefix(line, []byte("\ufeff")), true
			}
			return line, nil
		case len(e.line) == maxEvent:
			return nil, errTooLong
		}
		e.line = append(e.line, b)
	}
}
