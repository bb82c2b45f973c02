package resolve

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// useInterval is the time between two requests.
const useInterval = 5 * time.Millisecond

// slowDirectory is a directory of one source, whose reads take a while. A read returns the state at its start.
type slowDirectory struct {
	SourceDirectory
	id   uuid.UUID
	took time.Duration

	mu    sync.Mutex
	gone  bool
	err   error
	reads int
}

func (d *slowDirectory) read() (found bool, err error) {
	d.mu.Lock()
	found, err = !d.gone, d.err
	d.reads++
	d.mu.Unlock()
	time.Sleep(d.took)
	return found, err
}

func (d *slowDirectory) change(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// takeReads returns the number of reads since the last call.
func (d *slowDirectory) takeReads() (n int) {
	d.change(func() { n, d.reads = d.reads, 0 })
	return n
}

func (d *slowDirectory) SourcesByName(
	_ context.Context, _ uuid.UUID, names []string,
) (map[string]uuid.UUID, error) {
	found, err := d.read()
	if !found || err != nil {
		return nil, err
	}
	return map[string]uuid.UUID{names[0]: d.id}, nil
}

func (d *slowDirectory) SourcesByID(context.Context, uuid.UUID, []uuid.UUID) (map[uuid.UUID]bool, error) {
	found, err := d.read()
	return map[uuid.UUID]bool{d.id: found}, err
}

func (d *slowDirectory) Route(context.Context) (pointblock.Route, error) {
	return pointblock.Route{Partitions: 1}, nil
}

func newSlowResolver(d *slowDirectory) *Resolver {
	counter := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "c"}) }
	return New(Deps{Sources: d, Routes: d}, Metrics{SourcesHits: counter(), SourcesMisses: counter()})
}

// find looks up the source by name or by id, as a request does.
func (d *slowDirectory) find(t *testing.T, r *Resolver, workspace uuid.UUID, byName bool) (known bool, err error) {
	t.Helper()
	b := block.NewBatch(block.NewLabelCache(0))
	b.Begin(workspace, time.Now(), nil)
	if byName {
		b.Sources.InternName("boiler")
	} else {
		b.Sources.Add(block.SourceToken{Token: d.id.String()}, block.Source{ID: d.id})
	}
	if err := r.Sources(t.Context(), b, false); err != nil {
		return false, err
	}
	known = b.Sources.List[0].Known
	require.True(t, !known || b.Sources.List[0].ID == d.id)
	return known, nil
}

func TestSourcesInUseAreReadAgainBeforeTheyExpire(t *testing.T) {
	for name, byName := range map[string]bool{"by name": true, "by id": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &slowDirectory{id: uuid.New(), took: 20 * time.Millisecond}
				r, workspace := newSlowResolver(d), uuid.New()
				use := func(duration time.Duration) (slowest time.Duration) {
					for end := time.Now().Add(duration); time.Now().Before(end); time.Sleep(useInterval) {
						began := time.Now()
						known, err := d.find(t, r, workspace, byName)
						require.NoError(t, err)
						require.True(t, known)
						slowest = max(slowest, time.Since(began))
					}
					return slowest
				}
				require.Equal(t, d.took, use(500*time.Millisecond), "the first request reads the source")
				require.Equal(t, 1, d.takeReads())

				require.Zero(t, use(10*time.Second), "no request waits for a read")
				require.InDelta(t, 15, d.takeReads(), 1, "one read each two thirds of a second")

				time.Sleep(10 * time.Second)
				require.Zero(t, d.takeReads(), "a source that is not used is not read")

				d.took = time.Second
				require.Equal(t, d.took, use(1500*time.Millisecond), "a refresh takes too long, and a request reads the source")
				synctest.Wait()
			})
		})
	}
}

func TestARefreshDoesNotExtendTheUseOfADeletedSource(t *testing.T) {
	for name, byName := range map[string]bool{"by name": true, "by id": false} {
		t.Run(name, func(t *testing.T) {
			for deleted := range 20 { // at different times of a refresh
				synctest.Test(t, func(t *testing.T) {
					d := &slowDirectory{id: uuid.New(), took: 100 * time.Millisecond}
					r, workspace := newSlowResolver(d), uuid.New()
					deletion := time.Now().Add(5*time.Second + time.Duration(deleted)*50*time.Millisecond)
					last := time.Time{} // use of the source
					for time.Since(deletion) < 3*sourceTTL {
						d.change(func() { d.gone = !time.Now().Before(deletion) })
						began := time.Now()
						known, err := d.find(t, r, workspace, byName)
						require.NoError(t, err)
						if known {
							last = began
						}
						time.Sleep(useInterval)
					}
					require.Less(t, last.Sub(deletion), sourceTTL)
					require.Positive(t, last.Sub(deletion), "it is cached")
				})
			}
		})
	}
}

func TestAFailedRefreshIsReportedByTheRequestThatReadsTheExpiredSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDirectory{id: uuid.New()}
		r, workspace := newSlowResolver(d), uuid.New()
		_, err := d.find(t, r, workspace, true)
		require.NoError(t, err)
		d.change(func() { d.err = errors.New("the store is down") })
		began := time.Now()
		for err == nil {
			time.Sleep(useInterval)
			_, err = d.find(t, r, workspace, true)
		}
		require.ErrorContains(t, err, "the store is down")
		require.InDelta(t, sourceTTL, time.Since(began), float64(useInterval))
		synctest.Wait()
		require.LessOrEqual(t, d.takeReads(), 4, "refreshes are at least a third of the time to live apart")

		d.change(func() { d.err = nil })
		known, err := d.find(t, r, workspace, true)
		require.NoError(t, err)
		require.True(t, known)
	})
}
