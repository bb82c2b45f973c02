package links_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
	"github.com/livegraph/livegraph/internal/retrieval/links"
	dataset "github.com/livegraph/livegraph/test/bench/retrieval"
)

// mentionsOf2Wiki returns the pairs of passages of the data set of which the first mentions the title of the second.
func mentionsOf2Wiki(t *testing.T) (*dataset.Set, map[[2]int]bool) {
	t.Helper()
	data := dataset.Read(t)
	owners := map[string][]links.Owner{}
	nodes, index := map[uuid.UUID]graph.Node{}, map[uuid.UUID]int{}
	for i, p := range data.Passages {
		n := graph.Node{ID: uuid.NewSHA1(uuid.Nil, []byte(fmt.Sprint(i))), Name: p.Title}
		nodes[n.ID], index[n.ID] = n, i
		for _, name := range links.NamesOf(&n) {
			owners[name.Key] = append(owners[name.Key], links.Owner{Node: n.ID, Name: name})
		}
	}
	found := map[[2]int]bool{}
	for i, p := range data.Passages {
		mentions := links.Mentions(p.Text, lexical.Spans(p.Text), owners, links.NamesOf(&graph.Node{Name: p.Title}))
		for _, m := range links.Confirm(p.Title+"\n"+p.Text, mentions, nodes) {
			found[[2]int{i, index[m.Target]}] = true
		}
	}
	return data, found
}

func TestMentionsOf2Wiki(t *testing.T) {
	t.Parallel()
	data, found := mentionsOf2Wiki(t)
	// The edges that come with the data set were made by the longest match of titles, too, in any case.
	t.Run("most were given", func(t *testing.T) {
		given := 0
		for _, m := range data.Mentions {
			if found[m] {
				given++
			}
		}
		t.Logf("%d edges are given, %d mentions were found, %d are both", len(data.Mentions), len(found), given)
		require.Greater(t, float64(given)/float64(len(found)), 0.9, "few others")
		require.Greater(t, float64(given)/float64(len(data.Mentions)), 0.45, "others are words, and namesakes")
	})
	// A random sample of 300 was read and judged by hand: a mention is right if the text means the node, and wrong
	// if it means a namesake, something with a longer name, or a work of the same title in another form.
	t.Run("most mean their node", func(t *testing.T) {
		raw, err := os.ReadFile("testdata/labels.tsv")
		require.NoError(t, err)
		judged, right := 0, 0
		for line := range strings.Lines(string(raw)) {
			var pair [2]int
			var label string
			_, err := fmt.Sscan(line, &pair[0], &pair[1], &label)
			require.NoError(t, err)
			require.Contains(t, []string{"right", "wrong"}, label)
			if !found[pair] {
				continue
			}
			judged++
			if label == "right" {
				right++
			}
		}
		t.Logf("%d of %d are right", right, judged)
		require.Greater(t, judged, 270, "the sample is still one of the mentions that are found")
		require.GreaterOrEqual(t, float64(right)/float64(judged), 0.9)
	})
}

// TestNamesWithAnExplanation tests that a name means a node with an explanation only where the text has its words.
func TestNamesWithAnExplanation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, name string
		linked     bool
	}{
		{"Night Heat is a film.", "Night Heat (film)", true},
		{"In films such as Night Heat", "Night Heat (film)", true},
		{"Night Heat (film)", "Night Heat (film)", true},
		{"A summer's Night Heat", "Night Heat (film)", false},
		{"It was directed by John Cromwell.", "John Cromwell (director)", true},
		{"He played for John Cromwell.", "John Cromwell (director)", false},
		{"A western of Oliver Drake, a film", "Oliver Drake (filmmaker)", true},
		{"A Christmas Carol, a film of 2006", "A Christmas Carol (2006 film)", true},
		{"A Christmas Carol, a film of 2009", "A Christmas Carol (2006 film)", false},
		{"Juan Carlos, born in 1938", "Juan Carlos (footballer, born 1965)", false},
		{"Pump Seven in the cellar", "Pump Seven (cellar)", true},
		{"Pump Seven on the roof", "Pump Seven (cellar)", false},
		{"Pump Seven on the roof", "Pump Seven", true},
		{"Pump Seven on the roof", "Pump Seven (A)", true},
		{"Luís da Silva Marques", "Silva Marques", false},
		{"Henry Talbot de Vere", "Henry Talbot", false},
		{"Vincent van Gogh", "Gogh", false},
		{"a film de Henry Talbot", "Henry Talbot", true},
	} {
		n := graph.Node{ID: uuid.NewSHA1(uuid.Nil, []byte(c.name)), Name: c.name}
		owners := map[string][]links.Owner{}
		for _, name := range links.NamesOf(&n) {
			owners[name.Key] = append(owners[name.Key], links.Owner{Node: n.ID, Name: name})
		}
		mentions := links.Mentions(c.text, lexical.Spans(c.text), owners, nil)
		mentions = links.Confirm(c.text, mentions, map[uuid.UUID]graph.Node{n.ID: n})
		require.Equal(t, c.linked, len(mentions) == 1, "%s: %s", c.text, c.name)
	}
}

func TestTheWeightCountsTheMeaningsThatRemain(t *testing.T) {
	t.Parallel()
	owners := map[string][]links.Owner{}
	nodes := map[uuid.UUID]graph.Node{}
	for _, name := range []string{"The Mission (1983 film)", "The Mission (song)", "The Mission (district)"} {
		n := graph.Node{ID: uuid.NewSHA1(uuid.Nil, []byte(name)), Name: name}
		nodes[n.ID] = n
		for _, name := range links.NamesOf(&n) {
			owners[name.Key] = append(owners[name.Key], links.Owner{Node: n.ID, Name: name})
		}
	}
	for text, want := range map[string]float64{
		"The Mission is a song.":                     1,
		"The Mission is a song of the district.":     0.5,
		"The Mission is a song and a film of 1983":   0.5,
		"The Mission: film 1983, songs, a district.": 1.0 / 3,
	} {
		mentions := links.Confirm(text, links.Mentions(text, lexical.Spans(text), owners, nil), nodes)
		require.InDelta(t, 1/want, len(mentions), 1e-9, text)
		for _, m := range mentions {
			require.InDelta(t, want, m.Weight, 1e-9, text)
		}
	}
	text := "The Mission"
	require.Empty(t, links.Confirm(text, links.Mentions(text, lexical.Spans(text), owners, nil), nil), "no such nodes")
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

func BenchmarkMentions(b *testing.B) {
	data := dataset.Read(b)
	owners := map[string][]links.Owner{}
	for i, p := range data.Passages {
		n := graph.Node{ID: uuid.NewSHA1(uuid.Nil, []byte(fmt.Sprint(i))), Name: p.Title}
		for _, name := range links.NamesOf(&n) {
			owners[name.Key] = append(owners[name.Key], links.Owner{Node: n.ID, Name: name})
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := &data.Passages[i%len(data.Passages)]
		spans := lexical.Spans(p.Text)
		links.Keys(spans)
		links.Mentions(p.Text, spans, owners, nil)
	}
}
