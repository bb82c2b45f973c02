package process

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recorder records the order in which components start and end.
type recorder struct {
	mu     sync.Mutex
	events []string
}

func (r *recorder) add(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// component returns a component that runs until its context is done and then calls end.
func (r *recorder) component(name string, started *sync.WaitGroup, end func()) Component {
	started.Add(1)
	return Component{Name: name, Run: func(ctx context.Context) error {
		r.add(name + " starts")
		started.Done()
		<-ctx.Done()
		end()
		r.add(name + " ends")
		return ctx.Err()
	}}
}

func TestTheServerEndsBeforeWhatIsBesideIt(t *testing.T) {
	var r recorder
	var started sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	consumerEnds := make(chan struct{})
	consumer := r.component("consumer", &started, func() { close(consumerEnds) })
	server := r.component("server", &started, func() {
		select { // requests in flight still have their consumer
		case <-consumerEnds:
			t.Error("the consumer ended while the server answered")
		case <-time.After(100 * time.Millisecond):
		}
	})
	started.Add(1)
	once := Component{Name: "once", Run: func(context.Context) error {
		defer started.Done()
		r.add("once ends")
		return nil
	}}
	go func() { started.Wait(); cancel() }()
	require.NoError(t, runComponents(ctx, server, []Component{consumer, once}))
	require.ElementsMatch(
		t, []string{"consumer starts", "server starts", "once ends"}, r.events[:3], "all start, and one may end by itself",
	)
	require.Equal(t, []string{"server ends", "consumer ends"}, r.events[3:])
}

func TestAnErrorOfOneComponentEndsTheOthers(t *testing.T) {
	broken := errors.New("the log is gone")
	fails := func(started *sync.WaitGroup) Component {
		return Component{Name: "fails", Run: func(context.Context) error { started.Wait(); return broken }}
	}
	for name, arrange := range map[string]func(*recorder, *sync.WaitGroup) (Component, []Component){
		"of one beside the server": func(r *recorder, started *sync.WaitGroup) (Component, []Component) {
			return r.component("server", started, func() {}), []Component{
				r.component("consumer", started, func() {}), fails(started),
			}
		},
		"of the server": func(r *recorder, started *sync.WaitGroup) (Component, []Component) {
			return fails(started), []Component{
				r.component("server", started, func() {}), r.component("consumer", started, func() {}),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r recorder
			var started sync.WaitGroup
			server, others := arrange(&r, &started)
			require.ErrorIs(t, runComponents(t.Context(), server, others), broken)
			require.Subset(t, r.events, []string{"server ends", "consumer ends"})
		})
	}
}
