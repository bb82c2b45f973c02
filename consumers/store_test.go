package consumers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/storage/kafka"
)

// gatedHandler is a Handler for batches of one record. Each batch is stored when its gate
// provides the result.
type gatedHandler struct {
	wordHandler

	mu         sync.Mutex
	gates      map[string]chan error
	storing    int
	maxStoring int
	started    []string
	events     []string // in order: "refused x", or "3" for an Advance to offset 3

	refuseAdvance, refuseHalf   bool   // with errPermanent
	refusePrepare, refuseSecond string // the batch, and the record that is refused when it is added again
	added                       map[string]int
}

// errPermanent is a failure that a retry cannot resolve.
var errPermanent = errors.New("never")

func newGatedHandler(names ...string) *gatedHandler {
	g := &gatedHandler{gates: map[string]chan error{}, added: map[string]int{}}
	for _, n := range names {
		g.gates[n] = make(chan error, 10)
	}
	return g
}

func (g *gatedHandler) NewBatch() Batch { return &gatedBatch{g: g} }

func (g *gatedHandler) Advance(_ context.Context, next map[int32]int64) error {
	if g.refuseAdvance {
		return Permanent(errPermanent)
	}
	g.addEvent(fmt.Sprint(next[0]))
	return nil
}

func (g *gatedHandler) refused(_ context.Context, deadLetters []kafka.DeadLetter) error {
	for _, l := range deadLetters {
		g.addEvent("refused " + string(l.Record.Value))
	}
	return nil
}

func (g *gatedHandler) addEvent(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events = append(g.events, what)
}

// state waits until all goroutines are blocked and returns the started batches and the events.
func (g *gatedHandler) state() (started, events []string) {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string{}, g.started...), append([]string{}, g.events...)
}

type gatedBatch struct {
	wordBatch
	g *gatedHandler
}

func (b *gatedBatch) Add(r *kgo.Record) error {
	b.g.mu.Lock()
	defer b.g.mu.Unlock()
	name := string(r.Value)
	if b.g.added[name]++; b.g.added[name] > 1 && name == b.g.refuseSecond {
		return errors.New("too old by now")
	}
	return b.wordBatch.Add(r)
}

func (b *gatedBatch) Prepare(context.Context) error {
	b.g.mu.Lock()
	defer b.g.mu.Unlock()
	half := b.g.refuseHalf && b.g.added[b.text[0]] > 1
	if half || b.g.refusePrepare != "" && slices.Contains(b.text, b.g.refusePrepare) {
		return Permanent(errPermanent)
	}
	return nil
}

func (b *gatedBatch) Store(ctx context.Context) error {
	g, name := b.g, b.text[0]
	g.mu.Lock()
	g.storing++
	g.maxStoring = max(g.maxStoring, g.storing)
	g.started = append(g.started, name)
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.storing--
	}()
	select {
	case err := <-g.gates[name]:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sliceSource is a Source that returns its records and then ends, or blocks until ctx is done.
type sliceSource struct {
	records []*kgo.Record
	blocks  bool
}

func (o *sliceSource) Poll(ctx context.Context, _ int) ([]*kgo.Record, error) {
	if len(o.records) > 0 {
		next := o.records[:1]
		o.records = o.records[1:]
		return next, nil
	}
	if o.blocks {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, io.EOF
}

// newLoop creates a loop that stores up to atOnce batches at the same time.
func (g *gatedHandler) newLoop(atOnce int) *Loop {
	return New(Config{
		Name: "test", BatchRows: 1, BatchBytes: 1000, BatchWait: time.Second, StoreAtOnce: atOnce, Grace: time.Second,
		Hooks: Hooks{Refused: g.refused},
	}, g, nil, slog.New(slog.DiscardHandler), nil)
}

// startReading starts a loop that reads source and stores up to atOnce batches at the same time.
// The returned function waits for its end.
func startReading(ctx context.Context, g *gatedHandler, atOnce int, source *sliceSource) (end func() error) {
	loop := g.newLoop(atOnce)
	ended := make(chan error, 1)
	go func() { ended <- loop.Reread(ctx, source) }()
	return func() error { return <-ended }
}

func TestBatchesAreStoredTwoAtATimeAndNotedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatedHandler("a", "b", "c", "d")
		end := startReading(t.Context(), g, 2, &sliceSource{records: records("a", "b", "c", "d")})
		started, _ := g.state()
		require.ElementsMatch(t, []string{"a", "b"}, started)
		g.gates["b"] <- nil
		started, events := g.state()
		require.Len(t, started, 2, "batches that wait for completion count")
		require.Empty(t, events, "a batch is completed only after the earlier ones")
		g.gates["a"] <- nil
		started, events = g.state()
		require.Equal(t, []string{"1", "2"}, events)
		require.Len(t, started, 4)
		g.gates["c"] <- nil
		g.gates["d"] <- nil
		require.NoError(t, end())
		_, events = g.state()
		require.Equal(t, []string{"1", "2", "3", "4"}, events)
		require.Equal(t, 2, g.maxStoring)
	})
}

func TestWithOneAtATimeTheNextBeginsWhenThatBeforeIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatedHandler("a", "b")
		end := startReading(t.Context(), g, 0, &sliceSource{records: records("a", "b")})
		started, _ := g.state()
		require.Equal(t, []string{"a"}, started)
		g.gates["a"] <- nil
		started, events := g.state()
		require.Equal(t, []string{"a", "b"}, started)
		require.Equal(t, []string{"1"}, events)
		g.gates["b"] <- nil
		require.NoError(t, end())
		require.Equal(t, 1, g.maxStoring)
	})
}

func TestARefusedBatchIsBuriedBeforeWhatComesAfterItIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatedHandler("a", "b")
		end := startReading(t.Context(), g, 2, &sliceSource{records: records("a", "b")})
		g.gates["b"] <- nil
		g.state()
		g.gates["a"] <- errors.New("away") // retried
		g.gates["a"] <- Permanent(errors.New("refused"))
		require.NoError(t, end())
		_, events := g.state()
		require.Equal(t, []string{"refused a", "1", "2"}, events)
	})
}

func TestNothingIsNotedBehindWhatIsNotStoredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		g := newGatedHandler("a", "b", "c")
		end := startReading(ctx, g, 2, &sliceSource{records: records("a", "b", "c"), blocks: true})
		g.gates["b"] <- nil
		g.state()
		stop()
		began := time.Now()
		require.Error(t, end())
		require.Equal(t, time.Second, time.Since(began), "the grace period is used")
		started, events := g.state()
		require.Empty(t, events)
		require.Len(t, started, 2)
	})
}

func TestWhatAsksToRejoinEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatedHandler("a", "b", "c")
		end := startReading(t.Context(), g, 2, &sliceSource{records: records("a", "b", "c"), blocks: true})
		g.gates["b"] <- nil
		g.gates["a"] <- Rejoin(errors.New("lost"))
		require.True(t, IsRejoin(end()))
		_, events := g.state()
		require.Empty(t, events)
	})
}

// TestAnyFailureEndsTheSession covers failures that no stage retries. If the session did not end,
// no slot would be freed, and the group would still consider the member alive.
func TestAnyFailureEndsTheSession(t *testing.T) {
	for name, failure := range map[string]func(*gatedHandler) error{
		"in noting how far it is": func(g *gatedHandler) error { g.refuseAdvance = true; return nil },
		"in preparing a batch":    func(g *gatedHandler) error { g.refusePrepare = "b"; return nil },
		"in preparing half of a batch": func(g *gatedHandler) error {
			g.refuseHalf = true
			return Permanent(errors.New("refused"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGatedHandler("a", "b", "c", "d", "e")
				g.gates["a"] <- failure(g)
				for _, later := range []string{"b", "c", "d", "e"} {
					g.gates[later] <- nil
				}
				loop := g.newLoop(2)
				loop.cfg.BatchRows = 2
				source := &sliceSource{records: records("a", "b", "c", "d", "e"), blocks: true}
				ended := make(chan error, 1)
				go func() { ended <- loop.Reread(t.Context(), source) }()
				select {
				case err := <-ended:
					require.ErrorIs(t, err, errPermanent)
				case <-time.After(time.Hour):
					t.Fatal("the session continues but stores nothing")
				}
			})
		})
	}
}

func TestARecordThatCannotBeAddedAgainIsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGatedHandler("a", "b", "c")
		g.refuseSecond = "b"
		g.gates["a"] <- Permanent(errors.New("refused"))
		g.gates["a"] <- nil // alone in a batch
		g.gates["c"] <- nil
		loop := g.newLoop(1)
		loop.cfg.BatchRows = 2
		require.NoError(t, loop.Reread(t.Context(), &sliceSource{records: records("a", "b", "c")}))
		_, events := g.state()
		require.Equal(t, []string{"refused b", "2", "3"}, events)
	})
}

func TestASessionThatAFailureEndedIsCounted(t *testing.T) {
	loop := newGatedHandler().newLoop(1)
	loop.resume(t.Context(), newRetrier(loop.logger, "consuming"), errPermanent)
	require.EqualValues(t, 1, loop.Metrics().Snapshot().Restarts)
}
