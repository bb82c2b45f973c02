package block

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unique"
	"unsafe"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

func TestLabelsAreCachedByWorkspaceAndForm(t *testing.T) {
	c, workspace, other := NewLabelCache(1<<20), uuid.New(), uuid.New()
	l := Label{Tokens: Tokens{Tags: []byte("labels"), Metric: []byte("up")}, Hash: 7}
	known := line(workspace, "up", "labels", "node/a:1", 1, 7)
	require.Equal(t, "node/a:1", known.name())
	c.labels.Put(l.Hash, l.Hash, known)
	require.Same(t, known, c.get(FormLine, workspace, &l))
	require.Nil(t, c.get(FormLine, other, &l))
	require.Nil(t, c.get(FormLabels, workspace, &l))
	for _, tokens := range []Tokens{
		{Tags: []byte("label"), Metric: []byte("sup")}, {Tags: []byte("labels")},
		{Tags: []byte("labels"), Metric: []byte("up"), Source: []byte("a")},
		{Tags: []byte("labels"), Metric: []byte("up"), ByName: true},
	} {
		require.Nil(t, c.get(FormLine, workspace, &Label{Tokens: tokens, Hash: l.Hash}), "other bytes of the same hash")
	}
	c.labels.Put(l.Hash, l.Hash, line(other, "up", "labels", "", 1, 7))
	require.Nil(t, c.get(FormLine, workspace, &l), "the last entry of a hash is cached")
}

func TestACachedLabelIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(cachedLabel{}), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(Label{}), uintptr(labelBytes))
	require.LessOrEqual(t, unsafe.Sizeof(Parsed{}), uintptr(parsedBytes))
}

func TestTheLabelCacheIsBounded(t *testing.T) {
	const limit = 1 << 20
	c, workspace := NewLabelCache(limit), uuid.New()
	text := strings.Repeat("x", 1000)
	long := line(workspace, "", text, "", 1, 1)
	for i := range uint64(10_000) {
		c.labels.Put(i, i, long)
	}
	require.LessOrEqual(t, c.Len()*long.size(), limit+2*labelCacheShards*long.size())
	kept := c.Len()
	for i := range uint64(10_000) {
		c.labels.Put(1<<32+i, 1<<32+i, long)
	}
	require.Equal(t, kept, c.Len(), "a full generation is kept for a minimum time")
	require.NotNil(t, c.get(FormLine, workspace, &Label{Tokens: Tokens{Tags: []byte(text)}, Hash: 1}))
}

// TestLabelsArePredictedFromTheOnesBefore replaces a label in the cache. Requests that have the labels in the same
// order still find it, until they must look it up again.
func TestLabelsArePredictedFromTheOnesBefore(t *testing.T) {
	c := NewLabelCache(1 << 20)
	b := NewBatch(c)
	begin := time.Now()
	lookup := func(at time.Duration, names ...string) (found []bool) {
		b.Begin(uuid.Nil, begin.Add(at), nil)
		defer b.End()
		for i := range names {
			l := Label{Tokens: Tokens{Tags: []byte(names[i])}}
			_, l.Hash = b.Labels.Find(&l.Tokens)
			found = append(found, c.Lookup(b, FormLine, &l))
		}
		return found
	}
	hashes := map[string]uint64{}
	for i, name := range []string{"a", "b", "c"} {
		tokens := Tokens{Tags: []byte(name)}
		_, hash := b.Labels.Find(&tokens)
		hashes[name] = hash
		c.labels.Put(hash, hash, line(uuid.Nil, "", name, "source", i+1, hash))
	}
	require.Equal(t, []bool{true, true, true}, lookup(0, "a", "b", "c"))
	other := line(uuid.Nil, "", "other", "", 4, hashes["b"])
	c.labels.Put(hashes["b"], hashes["b"], other)
	require.Equal(t, []bool{true, true}, lookup(time.Second, "a", "b"), "b follows a")
	require.Equal(t, []bool{false}, lookup(time.Second, "b"), "only the cache itself is asked")
	require.Equal(t, []bool{true, false}, lookup(time.Second, "c", "b"))
	require.Equal(t, []bool{true, true, true}, lookup(2*time.Second, "a", "b", "c"), "b refers to no other label any more")
	require.Equal(t, []bool{true, false, true}, lookup(maxPredictedTime+time.Second, "a", "b", "c"))
}

// TestAPredictedLabelIsInARequestOnce predicts the labels of several cycles of one request.
func TestAPredictedLabelIsInARequestOnce(t *testing.T) {
	c := NewLabelCache(1 << 20)
	b := NewBatch(c)
	b.Begin(uuid.Nil, time.Now(), nil)
	names := []string{"a", "b", "c", "a"}
	tokens := make([]Tokens, len(names))
	for i, name := range names {
		tokens[i] = Tokens{Tags: []byte(name)}
		_, hash := b.Labels.Find(&tokens[i])
		if i < 3 {
			c.labels.Put(hash, hash, line(uuid.Nil, "", name, "source", i+1, hash))
		}
		require.True(t, c.Lookup(b, FormLine, &Label{Tokens: tokens[i], Hash: hash}))
	}
	b.End()
	b.Begin(uuid.Nil, time.Now(), nil)
	require.EqualValues(t, -1, c.Predict(b, FormLine, &tokens[0]), "there is no label before the first one")
	_, hash := b.Labels.Find(&tokens[0])
	first := Label{Tokens: tokens[0], Hash: hash}
	require.True(t, c.Lookup(b, FormLine, &first))
	require.Zero(t, b.Labels.Insert(first))
	require.EqualValues(t, -1, c.Predict(b, FormLine, &tokens[2]), "b follows a")
	for range 3 {
		require.EqualValues(t, 1, c.Predict(b, FormLine, &tokens[1]))
		require.EqualValues(t, 2, c.Predict(b, FormLine, &tokens[2]))
		require.EqualValues(t, 3, c.Predict(b, FormLine, &tokens[3]), "the first label was not predicted")
	}
	require.Equal(t, hash, b.Labels.List[3].Hash)
	for i := range b.Labels.List {
		b.Labels.List[i].Count[0] = int32(i + 1)
	}
	b.Identify(&[16]byte{})
	require.Len(t, b.Output.Series, 3)
	require.EqualValues(t, 1+4, b.Output.Series[b.Labels.List[0].seriesIndex[0]].Count, "both labels of a")
}

// line returns the cached label of a line, which names series number.
func line(workspace uuid.UUID, metric, tags, source string, number int, hash uint64) *cachedLabel {
	e := &cachedLabel{form: FormLine, workspace: unique.Make(workspace), hash: hash}
	e.data = metric + tags + source
	e.ends = [4]uint16{0, uint16(len(metric)), uint16(len(metric) + len(tags)), uint16(len(e.data))}
	e.data += string(pointblock.AppendSeriesHeader(nil, seriesRef(number), &pointblock.Identity{Metric: "m"}))
	return e
}

func seriesRef(i int) pointblock.SeriesRef {
	return pointblock.SeriesRef{ID: uint64(i), Fingerprint: pointblock.Fingerprint{byte(i)}}
}

// TestALabelThatIsCachedAlreadyIsKept adds one label by two requests.
func TestALabelThatIsCachedAlreadyIsKept(t *testing.T) {
	c := NewLabelCache(1 << 20)
	b := NewBatch(c)
	b.Begin(uuid.Nil, time.Now(), nil)
	for i := range 3 {
		source := b.Sources.InternName(fmt.Sprint("source ", i/2))
		id := uuid.UUID{byte(i / 2)}
		b.Sources.List[source].ID = id
		l := Label{Tokens: Tokens{Tags: []byte("a")}, Hash: 7, Source: source}
		before := c.get(FormLine, uuid.Nil, &l)
		identity := pointblock.Identity{Source: id, Metric: "m"}
		c.Add(b, FormLine, &l, seriesRef(1), &identity)
		after := c.get(FormLine, uuid.Nil, &l)
		require.Equal(t, i == 1, before == after, "only another source replaces it")
		require.Equal(t, fmt.Sprint("source ", i/2), after.name())
		require.Equal(t, string(pointblock.AppendSeriesHeader(nil, seriesRef(1), &identity)), after.encoded())
	}
}
