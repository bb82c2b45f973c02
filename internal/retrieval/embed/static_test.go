package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// golden has texts with the tokens and vectors of the reference implementation.
type golden struct {
	Items []struct {
		Text   string
		IDs    []int32
		Tokens []string
		Vector []float64
	}
}

func readGolden(t testing.TB) golden {
	t.Helper()
	raw, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var g golden
	require.NoError(t, json.Unmarshal(raw, &g))
	require.Len(t, g.Items, 46)
	return g
}

func TestTheStaticModelMatchesItsGoldenVectors(t *testing.T) {
	s := NewStatic()
	require.Equal(t, Model{Name: "minilm-static-256", Dimensions: 256}, s.Model())
	var tok tokenizer
	texts := make([]string, 0, 46)
	g := readGolden(t)
	for _, item := range g.Items {
		ids := s.tokens(&tok, item.Text)
		require.Len(t, ids, len(item.IDs), item.Text)
		for i, id := range ids {
			require.Equal(t, item.IDs[i], id, "%q: piece %d", item.Text, i)
		}
		texts = append(texts, item.Text)
	}
	vectors, err := s.Embed(t.Context(), texts)
	require.NoError(t, err)
	for i, item := range g.Items {
		if len(item.IDs) == 0 {
			require.Nil(t, vectors[i], item.Text)
			continue
		}
		require.Len(t, vectors[i], len(item.Vector))
		for j, want := range item.Vector {
			require.InDelta(t, want, vectors[i][j], 1e-5, "%q: component %d", item.Text, j)
		}
	}
}

func TestTheStaticModelsFilesAreTheOnesOfItsDescription(t *testing.T) {
	raw, err := os.ReadFile("minilm-static-256/model.json")
	require.NoError(t, err)
	var description struct {
		Name  string
		Dim   int
		Files map[string]struct{ SHA256 string }
	}
	require.NoError(t, json.Unmarshal(raw, &description))
	require.Equal(t, staticName, description.Name)
	require.Equal(t, staticDimensions, description.Dim)
	goldenFile, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	for name, content := range map[string]string{
		"vocab.txt": staticVocabulary, "embeddings.int8": staticRows, "golden.json": string(goldenFile),
	} {
		sum := sha256.Sum256([]byte(content))
		require.Equal(t, description.Files[name].SHA256, hex.EncodeToString(sum[:]), name)
	}
}

func TestATextWithoutAWordHasNoVector(t *testing.T) {
	vectors, err := NewStatic().Embed(t.Context(), []string{"", " \n\t", "🙂", "ไทย", "\x00\xff", strings.Repeat("a", 101)})
	require.NoError(t, err)
	for i, v := range vectors {
		require.Nil(t, v, "text %d", i)
	}
}

func TestWordsEndAtWhiteSpaceAndAt100Letters(t *testing.T) {
	s := NewStatic()
	var tok tokenizer
	tokens := func(text string) []int32 { return append([]int32(nil), s.tokens(&tok, text)...) }
	want := tokens("café pump")
	require.Len(t, want, 2)
	for _, space := range []string{"\t", "\n", "\r\n", "\u00a0", "\u3000", "\u2028"} {
		require.Equal(t, want, tokens("café"+space+"pump"), "%q", space)
	}
	require.Equal(t, tokens("a b"), tokens("a\nb"))
	require.NotEmpty(t, tokens(strings.Repeat("и", 100)), "letters are counted, not bytes")
	require.Empty(t, tokens(strings.Repeat("и", 101)))
}

func TestAVectorOfNoNumbersIsNone(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, ok := normalise(Vector{1, float32(x)})
		require.False(t, ok)
	}
	v, ok := normalise(Vector{math.MaxFloat32, 0})
	require.True(t, ok)
	require.Equal(t, Vector{1, 0}, v)
}

func TestTheStaticModelReads2048Pieces(t *testing.T) {
	s := NewStatic()
	var tok tokenizer
	require.Len(t, s.tokens(&tok, strings.Repeat("pump ", 3000)), staticMaxTokens)
	vectors, err := s.Embed(t.Context(), []string{strings.Repeat("pump ", 2048), strings.Repeat("pump ", 2048) + "valve"})
	require.NoError(t, err)
	require.Equal(t, vectors[0], vectors[1])
}

func TestTheStaticModelStopsWhenItsCallerDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewStatic().Embed(ctx, []string{"pump"})
	require.ErrorIs(t, err, ctx.Err())
}

// FuzzStatic passes any bytes to the tokenizer and checks the invariants of each text.
func FuzzStatic(f *testing.F) {
	for _, item := range readGolden(f).Items {
		f.Add(item.Text)
	}
	f.Add("\xff\xfe\x00")
	f.Add("e\u0301" + strings.Repeat("\u0301", 100) + "漢字İΣ")
	s := NewStatic()
	f.Fuzz(func(t *testing.T, text string) {
		var tok tokenizer
		ids := append([]int32(nil), s.tokens(&tok, text)...)
		if len(ids) > staticMaxTokens {
			t.Fatalf("%d pieces", len(ids))
		}
		for _, id := range ids {
			if id < 0 || int(id) >= len(s.scales) {
				t.Fatalf("no such piece: %d", id)
			}
		}
		for word := range tok.words(text) {
			if !utf8.Valid(word) || len(word) == 0 || strings.ContainsAny(string(word), " \t\r\n") {
				t.Fatalf("word %q", word)
			}
		}
		require.Equal(t, ids, append([]int32(nil), s.tokens(&tok, " "+text+"\n")...), "surrounding space has no effect")
		v := s.vector(ids)
		if v == nil {
			return
		}
		var sum float64
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if math.Abs(sum-1) > 1e-4 {
			t.Fatalf("a vector of length %v", math.Sqrt(sum))
		}
	})
}

// shortTexts resemble the names and descriptions of nodes.
var shortTexts = []string{
	"Boiler 3 in the cellar", "temperature of the outgoing air", "Which pump feeds the cooling tower?",
	"nginx: worker process",
	"Disk /dev/sda1 is 93 % full", "Contract with Müller & Söhne GmbH", "eth0", "quarterly energy report, 2026",
}

// BenchmarkStatic reports how many short texts one core embeds per second.
func BenchmarkStatic(b *testing.B) {
	s := NewStatic()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Embed(b.Context(), shortTexts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(shortTexts))/b.Elapsed().Seconds(), "texts/s")
}

// BenchmarkStaticStart reports how long loading the model takes.
func BenchmarkStaticStart(b *testing.B) {
	for b.Loop() {
		NewStatic()
	}
}
