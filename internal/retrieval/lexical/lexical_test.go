package lexical_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval/lexical"
)

// termsOf returns the terms of a text in order, one for each occurrence.
func termsOf(text string) string {
	var terms []string
	for p := range lexical.Occurrences(text) {
		terms = append(terms, p.Term)
	}
	return strings.Join(terms, " ")
}

func TestWordsHaveTheirTextAndPosition(t *testing.T) {
	for text, want := range map[string][]lexical.Word{
		"":               nil,
		"Kellogg's Pump": {{Text: "kellogg", From: 0, To: 7}, {Text: "pump", From: 10, To: 14}},
		"10.0.17":        {{Text: "10", From: 0, To: 2}, {Text: "0", From: 3, To: 4}, {Text: "17", From: 5, To: 7}},
		"À 锅炉":           {{Text: "a", From: 0, To: 2}, {Text: "锅", From: 3, To: 6}, {Text: "炉", From: 6, To: 9}},
	} {
		require.Equal(t, want, slices.Collect(lexical.Words(text)), text)
	}
}

func TestTextsAreCutIntoTermsInAnyScript(t *testing.T) {
	for text, terms := range map[string]string{
		"":                                   "",
		" ,;!? … — 🙂":                        "",
		"The Pump is HOT":                    "the pump is hot",
		"pumps, valves; batteries processes": "pump valve battery process",
		"gas bus axis class the boxes":       "gas bus axis class the box",
		"Straße ÆØÅ Łódź naïve İstanbul":   "strasse aeoa lodz naive istanbul",
		"Ελλάς Οδυσσεύς":                   "ελλασ οδυσσευσ",
		"Ёлка й":                           "елка и",
		"ｆｕｌｌ　ｗｉｄｔｈ １２":                    "full width 12",
		"ﬁne x² ①":                         "fine x2 1",
		"cpu0":                             "cpu0 cpu 0",
		"node-7":                           "node 7 node-7",
		"10.0.0.1":                         "10 0 0 1 10.0.0.1",
		"/dev/sda1":                        "dev sda1 sda 1 dev/sda1",
		"diskUsage HTTPServer":             "diskusage disk usage httpserver",
		"C++ C# a+b x#":                    "c c++ c c# a b a+b x x#",
		"mail bob@example.com, now.":       "mail bob example com bob@example.com now",
		"Kellogg's and Bob’s":              "kellogg and bob",
		"don't":                            "don t",
		"9f86d081884c7d659a2feaa0c55ad015": "9f86d081884c7d659a2feaa0c55ad015",
		"co\u00adoperate":                  "cooperate",
		"cafe\u0301":                       "cafe",
		"東京タワー":                            "東 東京 京 京タ タワ ワー",
		"水":                                "水",
		"ガス":                               "ガス",
		"が":                                "が",
		"서울 타워":                            "서울 타워",
		"สวัสดี":                           "สวั วัส สดี",
		"दिल्ली मेट्रो":                    "दिल्ली मेट्रो",
		"كِتَاب":                           "كتاب",
		"शक्ति7":                           "शक्ति7 शक्ति 7",
		"a\xffb":                           "a b",
		"abc水def":                          "abc 水 def",
	} {
		require.Equal(t, terms, termsOf(text), "%q", text)
	}
}

func TestANodeIsFoundByItsNameDescriptionAndProperties(t *testing.T) {
	properties, err := graph.ParseProperties(jsontext.Value(
		`{"serialNumber": "SN-77", "ports": [8080, {"role": "admin"}], "on": true}`,
	))
	require.NoError(t, err)
	terms := lexical.Analyse(lexical.Document{Name: "Pump 7", Description: "The pump.", Properties: properties})
	counts := map[string]int{}
	sum := 0
	for _, term := range terms.List {
		counts[term.Text] = term.Count
		sum += term.Count
	}
	require.Equal(t, map[string]int{
		"pump": 3, "7": 2, "the": 1, "serialnumber": 1, "serial": 1, "number": 1, "sn": 1, "77": 1, "sn-77": 1, "port": 1,
		"8080": 1, "role": 1, "admin": 1, "on": 1,
	}, counts, "a word of the name counts twice; keys, strings and numbers count at any depth")
	require.Equal(t, sum, terms.Length)
	require.Equal(t, "pump 7", terms.Name)
}

func TestAQueryHasTheTermsOfItsText(t *testing.T) {
	for text, want := range map[string]struct{ terms, prefix string }{
		"who owns the Pump":  {"who own the pump", "pump"},
		"who owns the pump ": {"who own the pump", ""},
		"pump?":              {"pump", ""},
		"pump pump":          {"pump", "pump"},
		"x":                  {"x", ""},
		"東京の水":               {"東京 京の の水", ""},
		"水 温":                {"水 温", ""},
		"node-7":             {"node 7 node-7", ""},
		"node-77":            {"node 77 node-77", "77"},
		"...":                {"", ""},
	} {
		q := lexical.Parse(text)
		var terms []string
		for _, term := range q.Terms {
			terms = append(terms, term.Text)
		}
		require.Equal(t, want.terms, strings.Join(terms, " "), text)
		require.Equal(t, want.prefix, q.Prefix, text)
	}
}

func TestNamesAreFoundInAQueryAsWholeWords(t *testing.T) {
	for _, c := range []struct {
		name, query string
		found       bool
	}{
		{"Pump 7", "what does pump 7 feed?", true},
		{"pump-7", "What does Pump 7 feed?", true},
		{"Pump 7", "what does pump 77 feed?", false},
		{"Hypocrite (Film)", "When did the director of film Hypocrite (Film) die?", true},
		{"Kellogg", "Where was Kellogg's founder born?", true},
		{"Łódź", "how far is lodz", true},
		{"ab", "ab", false},
		{"水道", "東京の水道はどこ", true},
		{"水", "水", false},
		{"東京タワー", "東京タワーの高さ", true},
		{"one two three four five six seven eight", "say one two three four five six seven eight nine", true},
		{"one two three four five six seven eight nine", "say one two three four five six seven eight nine", false},
		{"one two three four five six seven eight nine", "One two three four five six seven eight nine!", true},
		{"...", "what ...", false},
	} {
		key := lexical.NameKey(c.name)
		found := slices.ContainsFunc(lexical.Parse(c.query).Names, func(n lexical.Name) bool {
			return n.Key == key && key != ""
		})
		require.Equal(t, c.found, found, "%q in %q", c.name, c.query)
	}
}

func TestWhateverTheTextItsTermsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1000)
	var many strings.Builder
	for i := range 100_000 {
		many.WriteString(string(rune('一' + i%20_000)))
		many.WriteString(" w")
		many.WriteString(strings.Repeat("y", i%50))
	}
	terms := lexical.Analyse(lexical.Document{Name: long, Description: many.String()})
	require.LessOrEqual(t, len(terms.List), lexical.MaxTerms)
	require.Empty(t, lexical.NameKey(strings.Repeat("word ", 1000)))
	require.Contains(t, terms.List, lexical.Term{Text: strings.Repeat("x", lexical.MaxTermBytes), Count: 2})
	q := lexical.Parse(many.String())
	require.Len(t, q.Terms, lexical.MaxQueryTerms)
	require.LessOrEqual(t, len(q.Names), 4097)
}

// requireInvariants checks the invariants of the terms of any text.
func requireInvariants(t require.TestingT, text string) {
	for p := range lexical.Occurrences(text) {
		require.True(t, 0 <= p.From && p.From < p.To && p.To <= len(text), "%+v", p)
		requireValidTerm(t, p.Term)
	}
	doc := lexical.Analyse(lexical.Document{Name: text, Description: text})
	require.LessOrEqual(t, len(doc.List), lexical.MaxTerms)
	length := 0
	for i, term := range doc.List {
		requireValidTerm(t, term.Text)
		require.Positive(t, term.Count)
		require.True(t, i == 0 || doc.List[i-1].Text < term.Text)
		length += term.Count
	}
	require.Equal(t, length, doc.Length)
	q := lexical.Parse(text)
	if len(doc.List) < lexical.MaxTerms {
		for _, term := range q.Terms {
			_, found := slices.BinarySearchFunc(doc.List, term.Text, func(a lexical.Term, b string) int {
				return strings.Compare(a.Text, b)
			})
			require.True(t, found || len(text) > lexical.MaxText/2, "a text is found by itself: %q", term.Text)
		}
	}
	require.Equal(t, doc.Name, q.Name)
	if doc.Name != "" {
		require.True(t, slices.ContainsFunc(q.Names, func(n lexical.Name) bool {
			return n.Key == doc.Name
		}), "a name is in itself")
	}
}

func requireValidTerm(t require.TestingT, term string) {
	require.NotEmpty(t, term)
	require.LessOrEqual(t, len(term), lexical.MaxTermBytes)
	require.True(t, utf8.ValidString(term))
	require.Equal(t, -1, strings.IndexFunc(term, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == 0
	}), "%q", term)
}

func TestPropertyAnyTextIsFoundByItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9._:/@+#'-]{1,12}`),
			rapid.SampledFrom([]string{
				"東京", "ガス", "서울", "สวัสดี", "दिल्ली", "كِتَاب", "cafe\u0301", "İ", "ﬁ", "㎏", "½", "ǅ", "\u0345", "\u200b", "\u200d",
			})), 0, 12).Draw(t, "words")
		requireInvariants(t, strings.Join(words, rapid.SampledFrom([]string{" ", "", "-", "\n"}).Draw(t, "between")))
	})
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"", "cpu0 on node-7", "東京タワー 水", "C++ 10.0.0.1 Kellogg's", "\xff\xfe", "a\u0300\u0301\u200b", "ｆｕｌｌ ﷺ ½",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { requireInvariants(t, text) })
}

func BenchmarkAnalyse(b *testing.B) {
	short := lexical.Document{Name: "Pump 7", Description: "Feeds the reactor of line 2 with cooling water."}
	long := lexical.Document{Name: "Pump 7", Description: strings.Repeat(
		"Feeds the reactor of line 2 with cooling water. ", 200,
	)}
	for name, d := range map[string]lexical.Document{"short": short, "10KB": long} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(d.Description)))
			for b.Loop() {
				lexical.Analyse(d)
			}
		})
	}
}
