// Package retrieval reads the data set in testdata: passages of Wikipedia that mention each other, and questions. See
// testdata/README.md.
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

// Wiki is the data set.
type Wiki struct {
	Passages  []Passage
	Mentions  [][2]int // the index of a passage, and that of one whose title is in its text
	Questions []Question
}

// Passage is the beginning of an article.
type Passage struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Question is a question, with the titles of the passages that answer it.
type Question struct {
	Question string   `json:"question"`
	Gold     []string `json:"gold"`
}

// Read reads the data set.
func Read(t testing.TB) *Wiki {
	t.Helper()
	return &Wiki{
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
