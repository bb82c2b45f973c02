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

// gates is a Handler with a record a batch, each of which is stored when its gate gives
// what comes of it.
type gates struct {
	words

	mu       sync.Mutex
	gates    map[string]chan error
	under    int
	most     int
	begun    []string
	happened []string // in order: "refused x", "3" for what is below offset 3

	refuseAdvance, refuseHalf   bool   // with errNever
	refusePrepare, refuseSecond string // the batch, and the record at its second time
	added                       map[string]int
}

// errNever is a failure that trying again does not cure.
var errNever = errors.New("never")

func newGates(names ...string) *gates {
	g := &gates{gates: map[string]chan error{}, added: map[string]int{}}
	for _, n := range names {
		g.gates[n] = make(chan error, 10)
	}
	return g
}

func (g *gates) NewBatch() Batch { return &gatedBatch{g: g} }

func (g *gates) Advance(_ context.Context, next map[int32]int64) error {
	if g.refuseAdvance {
		return Permanent(errNever)
	}
	g.note(fmt.Sprint(next[0]))
	return nil
}

func (g *gates) Refused(_ context.Context, letters []kafka.DeadLetter) error {
	for _, l := range letters {
		g.note("refused " + string(l.Record.Value))
	}
	return nil
}

func (g *gates) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.happened = append(g.happened, what)
}

// saw returns which batches were begun and what has happened when nothing moves any more.
func (g *gates) saw() (begun, happened []string) {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string{}, g.begun...), append([]string{}, g.happened...)
}

type gatedBatch struct {
	wordBatch
	g *gates
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
		return Permanent(errNever)
	}
	return nil
}

func (b *gatedBatch) Store(ctx context.Context) error {
	g, name := b.g, b.text[0]
	g.mu.Lock()
	g.under++
	g.most = max(g.most, g.under)
	g.begun = append(g.begun, name)
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.under--
	}()
	select {
	case err := <-g.gates[name]:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// once is a Source that gives some records and ends, or waits until ctx does.
type once struct {
	records []*kgo.Record
	waits   bool
}

func (o *once) Poll(ctx context.Context, _ int) ([]*kgo.Record, error) {
	if len(o.records) > 0 {
		next := o.records[:1]
		o.records = o.records[1:]
		return next, nil
	}
	if o.waits {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, io.EOF
}

// loop makes a loop that stores so many batches at once.
func (g *gates) loop(atOnce int) *Loop {
	return New(Config{
		Name: "test", BatchRows: 1, BatchBytes: 1000, BatchWait: time.Second, StoreAtOnce: atOnce, Grace: time.Second,
	},
		g, nil, slog.New(slog.DiscardHandler), nil)
}

// reading has a loop with so many batches at once read records, and gives how to wait for
// its end.
func reading(ctx context.Context, g *gates, atOnce int, source *once) (end func() error) {
	loop := g.loop(atOnce)
	ended := make(chan error, 1)
	go func() { ended <- loop.Reread(ctx, source) }()
	return func() error { return <-ended }
}

func TestBatchesAreStoredTwoAtATimeAndNotedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates("a", "b", "c", "d")
		end := reading(t.Context(), g, 2, &once{records: records("a", "b", "c", "d")})
		begun, _ := g.saw()
		require.ElementsMatch(t, []string{"a", "b"}, begun)
		g.gates["b"] <- nil
		begun, happened := g.saw()
		require.Len(t, begun, 2, "what waits to be noted counts")
		require.Empty(t, happened, "nothing is noted before what comes before it is stored")
		g.gates["a"] <- nil
		begun, happened = g.saw()
		require.Equal(t, []string{"1", "2"}, happened)
		require.Len(t, begun, 4)
		g.gates["c"] <- nil
		g.gates["d"] <- nil
		require.NoError(t, end())
		_, happened = g.saw()
		require.Equal(t, []string{"1", "2", "3", "4"}, happened)
		require.Equal(t, 2, g.most)
	})
}

func TestWithOneAtATimeTheNextBeginsWhenThatBeforeIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates("a", "b")
		end := reading(t.Context(), g, 0, &once{records: records("a", "b")})
		begun, _ := g.saw()
		require.Equal(t, []string{"a"}, begun)
		g.gates["a"] <- nil
		begun, happened := g.saw()
		require.Equal(t, []string{"a", "b"}, begun)
		require.Equal(t, []string{"1"}, happened)
		g.gates["b"] <- nil
		require.NoError(t, end())
		require.Equal(t, 1, g.most)
	})
}

func TestARefusedBatchIsBuriedBeforeWhatComesAfterItIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates("a", "b")
		end := reading(t.Context(), g, 2, &once{records: records("a", "b")})
		g.gates["b"] <- nil
		g.saw()
		g.gates["a"] <- errors.New("away") // tried again
		g.gates["a"] <- Permanent(errors.New("refused"))
		require.NoError(t, end())
		_, happened := g.saw()
		require.Equal(t, []string{"refused a", "1", "2"}, happened)
	})
}

func TestNothingIsNotedBehindWhatIsNotStoredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		g := newGates("a", "b", "c")
		end := reading(ctx, g, 2, &once{records: records("a", "b", "c"), waits: true})
		g.gates["b"] <- nil
		g.saw()
		stop()
		began := time.Now()
		require.Error(t, end())
		require.Equal(t, time.Second, time.Since(began), "it has the grace")
		begun, happened := g.saw()
		require.Empty(t, happened)
		require.Len(t, begun, 2)
	})
}

func TestWhatAsksToRejoinEndsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates("a", "b", "c")
		end := reading(t.Context(), g, 2, &once{records: records("a", "b", "c"), waits: true})
		g.gates["b"] <- nil
		g.gates["a"] <- Rejoin(errors.New("lost"))
		require.True(t, IsRejoin(end()))
		_, happened := g.saw()
		require.Empty(t, happened)
	})
}

// TestAnyFailureEndsTheSession covers what no stage tries again: without an end of the
// session no slot would be freed, and the group would go on to believe in the member.
func TestAnyFailureEndsTheSession(t *testing.T) {
	for name, failure := range map[string]func(*gates) error{
		"in noting how far it is":      func(g *gates) error { g.refuseAdvance = true; return nil },
		"in preparing a batch":         func(g *gates) error { g.refusePrepare = "b"; return nil },
		"in preparing half of a batch": func(g *gates) error { g.refuseHalf = true; return Permanent(errors.New("refused")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGates("a", "b", "c", "d", "e")
				g.gates["a"] <- failure(g)
				for _, later := range []string{"b", "c", "d", "e"} {
					g.gates[later] <- nil
				}
				loop := g.loop(2)
				loop.cfg.BatchRows = 2
				source := &once{records: records("a", "b", "c", "d", "e"), waits: true}
				ended := make(chan error, 1)
				go func() { ended <- loop.Reread(t.Context(), source) }()
				select {
				case err := <-ended:
					require.ErrorIs(t, err, errNever)
				case <-time.After(time.Hour):
					t.Fatal("the session goes on, and nothing is stored any more")
				}
			})
		})
	}
}

func TestARecordThatCannotBeAddedAgainIsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGates("a", "b", "c")
		g.refuseSecond = "b"
		g.gates["a"] <- Permanent(errors.New("refused"))
		g.gates["a"] <- nil // alone
		g.gates["c"] <- nil
		loop := g.loop(1)
		loop.cfg.BatchRows = 2
		require.NoError(t, loop.Reread(t.Context(), &once{records: records("a", "b", "c")}))
		_, happened := g.saw()
		require.Equal(t, []string{"refused b", "2", "3"}, happened)
	})
}

func TestASessionThatAFailureEndedIsCounted(t *testing.T) {
	loop := newGates().loop(1)
	loop.resume(t.Context(), newRetrying(loop.logger, "consuming"), errNever)
	require.EqualValues(t, 1, loop.Metrics().Snapshot().Restarts)
}
