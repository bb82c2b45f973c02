// Package retrieval has the sets with which retrieval is measured: Wikipedia, which is in testdata (see its README.md),
// and two that are made from what is installed, manual pages and the messages of the TypeScript compiler.
package retrieval

import (
	"bufio"
	"compress/gzip"
	"embed"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

//go:embed testdata/*.gz
var files embed.FS

// Read reads the set of Wikipedia. A mention is a title in the text of another passage.
func Read(t testing.TB) *Set {
	t.Helper()
	return &Set{
		Passages: readLines(t, "corpus.jsonl.gz", func(line []byte) (p Passage, err error) {
			return p, json.Unmarshal(line, &p)
		}),
		Mentions: readLines(t, "mentions.tsv.gz", func(line []byte) (m [2]int, err error) {
			_, err = fmt.Sscan(string(line), &m[0], &m[1])
			return m, err
		}),
		Questions: readLines(t, "questions.jsonl.gz", func(line []byte) (q Question, err error) {
			return q, json.Unmarshal(line, &q)
		}),
	}
}

func readLines[T any](t testing.TB, name string, parse func(line []byte) (T, error)) (list []T) {
	t.Helper()
	file, err := files.Open("testdata/" + name)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	plain, err := gzip.NewReader(file)
	require.NoError(t, err)
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		item, err := parse(lines.Bytes())
		require.NoError(t, err)
		list = append(list, item)
	}
	require.NoError(t, lines.Err())
	return list
}
