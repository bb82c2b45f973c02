package contract_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sseReader reads Server-Sent Events.
type sseReader struct {
	t     testing.TB
	lines *bufio.Reader
	id    string // of the last event, or of a heartbeat since
}

func newSSEReader(t testing.TB, body io.Reader) *sseReader {
	return &sseReader{t: t, lines: bufio.NewReaderSize(body, 1<<20)}
}

// event reads the next event, and skips heartbeats. It returns false if the stream has ended.
func (s *sseReader) event() (name, data string, ok bool) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			require.ErrorIs(s.t, err, io.EOF, "a stream ends orderly")
			return name, data, false
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			s.id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if name != "" { // otherwise it is a comment, or only an id
				return name, data, true
			}
		}
	}
}
