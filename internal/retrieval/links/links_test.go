package links_test

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/internal/retrieval/links"
	dataset "github.com/livegraph/livegraph/test/bench/retrieval"
)

// TestMentionsOf2Wiki compares the mentions with the edges that come with the data set. Those were made
// by the longest match of titles, too.
func TestMentionsOf2Wiki(t *testing.T) {
	t.Parallel()
	data := dataset.Read(t)
	want := map[[2]int]bool{}
	for _, m := range data.Mentions {
		want[m] = true
	}
	owners := map[string][]links.Owner{}
	index := map[uuid.UUID]int{}
	for i, p := range data.Passages {
		n := graph.Node{ID: uuid.NewSHA1(uuid.Nil, []byte(fmt.Sprint(i))), Name: p.Title}
		index[n.ID] = i
		for _, name := range links.NamesOf(&n) {
			owners[name.Key] = append(owners[name.Key], links.Owner{Node: n.ID, Name: name})
		}
	}
	found, given := 0, 0
	for i, p := range data.Passages {
		spans := lexical.Spans(p.Text)
		for _, m := range links.Mentions(p.Text, spans, owners, links.NamesOf(&graph.Node{Name: p.Title})) {
			found++
			if want[[2]int{i, index[m.Target]}] {
				given++
			}
		}
	}
	t.Logf("%d edges are given, %d mentions were found, %d are both", len(want), found, given)
	require.Greater(t, float64(given)/float64(found), 0.9, "few others")
	require.Greater(t, float64(given)/float64(len(want)), 0.5, "the rest are titles such as Comedy! in lower case")
}

func TestMentionsAreTheLongestNames(t *testing.T) {
	t.Parallel()
	nodes := map[string]graph.Node{}
	owners := map[string][]links.Owner{}
	node := func(name, properties string) {
		parsed, err := graph.ParseProperties(jsontext.Value(properties))
		require.NoError(t, err)
		n := graph.Node{ID: uuid.NewSHA1(uuid.Nil, []byte(name+properties)), Name: name, Properties: parsed}
		nodes[name] = n
		for _, name := range links.NamesOf(&n) {
			owners[name.Key] = append(owners[name.Key], links.Owner{Node: n.ID, Name: name})
		}
	}
	node("York", "{}")
	node("New York", "{}")
	node("Night Heat (film)", `{}`)
	node("Princess (film)", `{}`)
	node("Pump", "{}")
	node("cooling system", "{}")
	node("Christopher Nolan", `{"aliases":["Chris Nolan", 7]}`)
	node("Crème Brûlée", `{"aliases":["burnt cream"]}`)
	node("東京", "{}")
	for range 4 {
		node("John Smith", `{"n":`+fmt.Sprint(len(owners["john smith"]))+`}`)
	}
	for text, want := range map[string][]string{
		"He moved to New York, not to York.":   {"New York", "York"},
		"Night Heat is a film of a Princess.":  {"Night Heat (film)"},
		"the pump and Pumps of a Pump's house": {"Pump"},
		"COOLING SYSTEMS are cooling systems":  {"cooling system"},
		"Christopher Nolan's film":             {"Christopher Nolan"},
		"CREME BRULEE":                         {"Crème Brûlée"},
		"Cape York and York Minster, D. York":  nil,
		"new york, crème brûlée":               nil,
		"burnt cream":                          {"Crème Brûlée"},
		"New\nYork":                            {"York"},
		"John Smith":                           nil,
		"彼は東京に住む":                              {"東京"},
		"":                                     nil,
	} {
		var got []string
		for _, m := range links.Mentions(text, lexical.Spans(text), owners, nil) {
			for name := range nodes {
				if nodes[name].ID == m.Target {
					got = append(got, name)
				}
			}
			require.NotEmpty(t, text[m.From:m.To])
		}
		require.Equal(t, want, got, text)
	}
	hidden := "New York"
	own := links.NamesOf(&graph.Node{Name: "New York (film)"})
	require.Empty(t, links.Mentions(hidden, lexical.Spans(hidden), owners, own), "it is the text's own name")
}

func FuzzMentions(f *testing.F) {
	f.Add("New York", "He lives in New York's north. New york!")
	f.Add("東京", "東京に")
	f.Add("X (film)", "x\xff X")
	f.Fuzz(func(t *testing.T, name, text string) {
		n := graph.Node{ID: uuid.NewSHA1(uuid.Nil, nil), Name: name}
		owners := map[string][]links.Owner{}
		for _, name := range links.NamesOf(&n) {
			owners[name.Key] = append(owners[name.Key], links.Owner{Node: n.ID, Name: name})
		}
		spans := lexical.Spans(text)
		for _, m := range links.Mentions(text, spans, owners, nil) {
			require.True(t, 0 <= m.From && m.From < m.To && m.To <= len(text))
			require.Equal(t, text[m.From:m.To], m.Text)
			require.Positive(t, m.Count)
		}
	})
}
