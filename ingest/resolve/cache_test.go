package resolve

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

func TestTheCachesAreBounded(t *testing.T) {
	series := newSeriesCache(1000)
	for i := range 100_000 {
		f := pointblock.FingerprintOf(&[16]byte{}, []byte(fmt.Sprint(i)))
		series.put(f, uint64(i))
		id, ok := series.get(f)
		require.True(t, ok)
		require.EqualValues(t, i, id)
	}
	require.LessOrEqual(t, series.len(), 1000)

	sources := newSourceCache(time.Hour, 100)
	for range 1000 {
		ref := []block.Source{{ID: uuid.New(), Known: true}, {Name: uuid.NewString(), ByName: true, Known: true}}
		ws := uuid.New()
		reads := sources.beginRead(ws)
		sources.add(ws, ref, reads, time.Now())
		sources.endRead(ws, reads)
		require.LessOrEqual(t, sources.entries, 100)
		require.Empty(t, sources.reads)
	}
}

func TestASeriesInUseIsNotForgotten(t *testing.T) {
	series := newSeriesCache(1000)
	used := pointblock.FingerprintOf(&[16]byte{}, []byte("used"))
	series.put(used, 7)
	for i := range 10_000 {
		series.put(pointblock.FingerprintOf(&[16]byte{}, []byte(fmt.Sprint(i))), 1)
		_, ok := series.get(used)
		require.True(t, ok)
	}
}

// directory finds the first of the requested sources, and clears the workspace's cache during the lookup.
type directory struct {
	SourceDirectory
	resolver *Resolver
}

func (d *directory) SourcesByName(
	_ context.Context, workspace uuid.UUID, names []string,
) (map[string]uuid.UUID, error) {
	d.resolver.Forget(workspace)
	return map[string]uuid.UUID{names[0]: uuid.New()}, nil
}

func TestAnAnswerFromBeforeAChangeIsNotRemembered(t *testing.T) {
	d := &directory{}
	d.resolver = New(Deps{Sources: d}, Metrics{})
	b := block.NewBatch(block.NewLabelCache(0))
	b.Begin(uuid.New(), time.Now(), nil)
	b.Sources.InternName("boiler")
	require.NoError(t, d.resolver.findSources(t.Context(), b, false))
	require.True(t, b.Sources.List[0].Known)
	require.Empty(t, d.resolver.sources.reads, "every read has ended")
	require.Zero(t, d.resolver.SourcesLen())
}
