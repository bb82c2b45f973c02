// Package paraphrases has pairs of texts that say the same in other words: what a node
// says of itself, and what somebody asks who looks for it. They are about machines,
// sensors and services, and were written for this; no content word of one stands in
// the other, so that only the meaning leads from one to the other.
package paraphrases

import (
	_ "embed"
	"fmt"
	"strings"
)

// Pair is one of them.
type Pair struct {
	Name, Description string // of the node
	Query             string
}

//go:embed pairs.tsv
var pairs string

// Pairs returns all of them.
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
