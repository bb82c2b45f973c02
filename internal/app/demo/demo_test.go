package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/test/testenv"
)

// newDeps returns the dependencies of a demo, with keys key-1, key-2, …
func newDeps(p *fakeServer, out *testenv.Output) Deps {
	created := 0
	return Deps{
		BaseURL: p.URL, Workspace: uuid.MustParse("0190a000-0000-7000-8000-000000000001"), Out: out,
		DataDir: "the data",
		NewKey: func(context.Context) (string, error) {
			created++
			key := fmt.Sprintf("key-%d", created)
			p.locked(func() { p.keys[key] = true })
			return key, nil
		},
	}
}

func TestTheDemoSendsWhatItMeasuresAndPrintsLinks(t *testing.T) {
	t.Parallel()
	p, out := newFakeServer(t), &testenv.Output{}
	options := Options{Interval: 200 * time.Millisecond, Plain: true}
	runUntil(t, options, newDeps(p, out), func() (all bool) {
		p.locked(func() {
			cpu := p.points[p.sources[machine.HostName()+"/cpu"]+" usage_percent"]
			all = len(cpu) > 3 && p.sources[machine.HostName()+"/processes"] != "" && p.ingests > 5
		})
		return all && strings.Contains(out.String(), "weather/new-york: back-filled") &&
			strings.Contains(out.String(), "weather/seattle: back-filled")
	})
	text := out.String()
	p.locked(func() {
		require.Contains(t, p.sources, machine.HostName()+"/cpu")
		require.Contains(t, p.sources, machine.HostName()+"/processes")
		require.Contains(t, p.sources, "weather/seattle")
		require.Contains(t, p.sources, "weather/new-york")
		require.Greater(t, p.ingests, 5)
		for name, id := range p.sources {
			if strings.HasSuffix(name, "/cpu") {
				require.Greater(t, len(p.points[id+" usage_percent"]), 3)
			}
		}
	})
	require.Contains(t, text, "weather/seattle: back-filled: 7,305 daily measurements from 2012-01-01 to 2015-12-31")
	require.GreaterOrEqual(t, strings.Count(text, " --data-dir 'the data' --workspace 0190a000"), 3)
	require.Contains(t, text, p.URL+"/api/docs")
	require.Contains(t, text, "The demo ran for")
	require.Contains(t, text, "(p95) after the answer")
	require.NotContains(t, text, "key-1", "the key is not printed")
}

func TestASecondDemoChangesNothingOfTheHistory(t *testing.T) {
	t.Parallel()
	p := newFakeServer(t)
	options := Options{Interval: 200 * time.Millisecond, Duration: time.Second}
	require.NoError(t, Run(t.Context(), options, newDeps(p, &testenv.Output{})))
	var sources map[string]string
	var words int
	var id string
	p.locked(func() {
		sources, id = maps.Clone(p.sources), p.sources["weather/seattle"]
		words = p.words[id+" weather"]
		require.Len(t, p.points[id+" temp_max"], 1461)
	})
	require.Equal(t, 1461, words)
	out := &testenv.Output{}
	require.NoError(t, Run(t.Context(), options, newDeps(p, out)))
	require.Contains(t, out.String(), "weather/seattle: there already")
	p.locked(func() {
		require.Subset(t, p.sources, sources, "no source is made again")
		require.Equal(t, id, p.sources["weather/seattle"])
		require.Equal(t, words, p.words[id+" weather"], "nothing is sent again")
		require.Len(t, p.points[id+" temp_max"], 1461)
	})
}

func TestNothingIsLostWhileTheServerRefuses(t *testing.T) {
	t.Parallel()
	p, out := newFakeServer(t), &testenv.Output{}
	refused := 0
	var first time.Time // first request with points
	p.refuse = func(r *http.Request) int {
		if r.URL.Path != "/api/live-data/ingest" {
			return 0
		}
		if first.IsZero() {
			first = time.Now()
		}
		if since := time.Since(first); since > time.Second && since < 2500*time.Millisecond {
			refused++
			return http.StatusServiceUnavailable
		}
		return 0
	}
	runUntil(t, Options{Interval: 100 * time.Millisecond, NoBackfill: true}, newDeps(p, out), func() (stored bool) {
		p.locked(func() {
			if refused == 0 {
				return
			}
			for at := range p.points[p.sources[machine.HostName()+"/memory"]+" total_bytes"] {
				since := time.UnixMilli(at).Sub(first)
				stored = stored || since > 1100*time.Millisecond && since < 2400*time.Millisecond
			}
		})
		return stored // points that were measured during the outage
	})
	require.Contains(t, out.String(), "the server makes us wait: refused by the test")
	require.Contains(t, out.String(), "0 were rejected, 0 dropped")
}

func TestAKeyThatIsRevokedOrExpiredIsReplaced(t *testing.T) {
	t.Parallel()
	p, out := newFakeServer(t), &testenv.Output{}
	stored := func() int { return len(p.points[p.sources[machine.HostName()+"/memory"]+" total_bytes"]) }
	revoked := false
	p.refuse = func(*http.Request) int {
		if !revoked && stored() > 5 {
			revoked = true
			p.keys = map[string]bool{}
		}
		return 0
	}
	before := -1 // points when the second key was first seen
	runUntil(t, Options{Interval: 100 * time.Millisecond, NoBackfill: true}, newDeps(p, out), func() (done bool) {
		p.locked(func() {
			if before < 0 && p.keys["key-2"] {
				before = stored()
			}
			done = before >= 0 && stored() > before+5
		})
		return done
	})
	require.Contains(t, out.String(), "0 were rejected, 0 dropped")
}

func TestASourceThatWasDeletedIsMadeAgain(t *testing.T) {
	t.Parallel()
	p, out := newFakeServer(t), &testenv.Output{}
	name := machine.HostName() + "/memory"
	deleted := ""
	p.refuse = func(*http.Request) int {
		if id := p.sources[name]; deleted == "" && len(p.points[id+" total_bytes"]) > 0 {
			deleted = id
			delete(p.sources, name)
		}
		return 0
	}
	runUntil(t, Options{Interval: 100 * time.Millisecond, NoBackfill: true}, newDeps(p, out), func() (done bool) {
		p.locked(func() {
			id := p.sources[name]
			done = deleted != "" && id != "" && id != deleted && len(p.points[id+" total_bytes"]) > 0
		})
		return done
	})
}

func TestTheDemoFailsOnlyWhenItCannotBegin(t *testing.T) {
	t.Parallel()
	p := newFakeServer(t)
	deps := newDeps(p, &testenv.Output{})
	deps.NewKey = func(context.Context) (string, error) { return "", errors.New("no database") }
	require.ErrorContains(t, Run(t.Context(), Options{}, deps), "making a key for the demo: no database")

	deps = newDeps(p, &testenv.Output{})
	p.refuse = func(*http.Request) int { return http.StatusForbidden }
	require.ErrorContains(t, Run(t.Context(), Options{}, deps), "does not serve the demo")

	p.refuse = func(r *http.Request) int {
		if r.Method == http.MethodPost {
			return http.StatusForbidden
		}
		return 0
	}
	options := Options{Interval: 100 * time.Millisecond, NoBackfill: true}
	require.ErrorContains(t, Run(t.Context(), options, deps), "may not write")
}

// notHeld is the time after its end in which the demo stops on a busy machine, where reading the inventory takes
// seconds. A demo that still tried to send would take the minute of its retries.
const notHeld = 30 * time.Second

func TestCtrlCIsAGoodEndAtAnyMoment(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 50 * time.Millisecond, 700 * time.Millisecond} {
		p, out := newFakeServer(t), &testenv.Output{}
		if after == 50*time.Millisecond { // while it waits for a server that does not serve
			p.refuse = func(*http.Request) int { return http.StatusServiceUnavailable }
		}
		ctx, cancel := context.WithTimeout(t.Context(), after)
		began := time.Now()
		require.NoError(t, Run(ctx, Options{Interval: 100 * time.Millisecond}, newDeps(p, out)))
		require.Less(t, time.Since(began), after+notHeld)
		cancel()
	}
}

func TestAServerThatIsGoneAtTheEndDoesNotHoldTheDemo(t *testing.T) {
	t.Parallel()
	p, out := newFakeServer(t), &testenv.Output{}
	began := time.Now()
	p.refuse = func(r *http.Request) int {
		if r.Method == http.MethodPost && time.Since(began) > time.Second {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	require.NoError(t, Run(
		t.Context(), Options{Interval: 100 * time.Millisecond, Duration: 2 * time.Second, NoBackfill: true}, newDeps(p, out),
	))
	require.Less(t, time.Since(began), 2*time.Second+notHeld)
	require.NotContains(t, out.String(), ", 0 wait", "what could not be sent is counted")
}
