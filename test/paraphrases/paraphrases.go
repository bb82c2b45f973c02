// Package paraphrases contains pairs of texts with the same meaning in different words: the
// description of a node, and a query for it. They are about machines, sensors and services,
// and were written for this package. The texts of a pair share no content word, so that
// only their meaning connects them.
package paraphrases

import (
	_ "embed"
	"fmt"
	"strings"
)

// Pair is a node and a query that paraphrases its description.
type Pair struct {
	Name, Description string // of the node
	Query             string
}

//go:embed pairs.tsv
var pairs string

// Pairs returns all pairs.
func Pairs() ([]Pair, error) {
	var list []Pair
	for line := range strings.Lines(pairs) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("a pair has a name, a description and a query: %q", line)
		}
		list = append(list, Pair{Name: fields[0], Description: fields[1], Query: fields[2]})
	}
	return list, nil
}
