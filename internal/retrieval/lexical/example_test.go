package lexical_test

import (
	"fmt"

	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

func ExampleAnalyse() {
	terms := lexical.Analyse(lexical.Document{Name: "node-7", Description: "Runs pumps."})
	for _, t := range terms.List {
		fmt.Println(t.Text, t.Count)
	}
	fmt.Println(terms.Name)
	// Output:
	// 7 2
	// node 2
	// node-7 2
	// pump 1
	// run 1
	// node 7
}

func ExampleParse() {
	q := lexical.Parse("what runs on Node-7, and why is cpu")
	fmt.Println(len(q.Terms), q.Prefix)
	for _, n := range q.Names {
		if n.To-n.From == 2 && n.Key == "node 7" {
			fmt.Println("maybe a name:", n.Key)
		}
	}
	// Output:
	// 10 cpu
	// maybe a name: node 7
}
