package reply_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/reply"
)

// cells parses one record exactly by RFC 4180. (The standard library's reader converts line
// ends within cells to line feeds.) It returns false if the record is not valid.
func cells(record string) (read []string, ok bool) {
	for {
		var cell []byte
		i := 0
		if len(record) > 0 && record[0] == '"' {
			for i = 1; ; i++ {
				if i == len(record) {
					return nil, false // the quote is not closed
				}
				if record[i] == '"' {
					if i+1 == len(record) || record[i+1] != '"' {
						break
					}
					i++
				}
				cell = append(cell, record[i])
			}
			i++
		} else {
			for ; i < len(record) && record[i] != ','; i++ {
				if record[i] == '"' || record[i] == '\r' || record[i] == '\n' {
					return nil, false // must be quoted
				}
				cell = append(cell, record[i])
			}
		}
		read = append(read, string(cell))
		if i == len(record) {
			return read, true
		}
		if record[i] != ',' {
			return nil, false
		}
		record = record[i+1:]
	}
}

func TestATextIsOneCellToTheLetterOfTheStandard(t *testing.T) {
	for text, want := range map[string]string{
		"a\r\nb": "a\r\nb", "a\rb": "a\rb", "a\nb": "a\nb", "a\r\n": "a\r\n", "a,b": "a,b", `say "hi"`: `say "hi"`, "": "",
		"plain": "plain", " a ": " a ",
		"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n": "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
		"\r\n=1+1": "'\r\n=1+1", "\n=1": "'\n=1", "\t=1": "'\t=1", "=1": "'=1", "'=1": "''=1", "a\r\n=1": "a\r\n=1",
		"a\"\r\n,=1": "a\"\r\n,=1",
	} {
		line := string(reply.AppendCSVText([]byte("before,"), text)) + ",after"
		got, ok := cells(line)
		require.True(t, ok, "%q", line)
		require.Equal(t, []string{"before", want, "after"}, got)
	}
}
