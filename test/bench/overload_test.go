package bench

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/bench/record"
)

const (
	overloadTime    = 15 * time.Second // of each load
	overloadCallers = 64               // that measure the capacity
	overloadFactor  = 3
	// overloadOpen is the maximum number of requests of ours that are open; what is due beyond is not
	// sent, and said: the server would not have taken the connections.
	overloadOpen = 3000
	// recoverLimit bounds the wait for the server to be as quick as before.
	recoverLimit = time.Minute
)

// BenchmarkOverload measures how many requests of a kind the server answers, from callers
// that wait for their answers, and then sends three times as many whether it answers or
// not. It reports how long those that were accepted took, how many were refused and how
// quickly, and when after the load the server was as quick as before it. The server and its
// engines have one processor, the load generator the others.
func BenchmarkOverload(b *testing.B) {
	r := record.New(b)
	var t *target
	if !apart(b, func() { t = start(b) }) {
		r.Say("the load generator has the processors that the service has")
	}
	r.Engines(t.engines())
	o := &overload{t: t, http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxIdleConnsPerHost: overloadOpen, DisableCompression: true,
	}}}
	var source struct{ ID string }
	t.Do(http.MethodPost, "/api/live-data/sources", map[string]any{"name": "overload"}, http.StatusCreated, &source)
	o.source = source.ID
	for n := range overloadBodies {
		o.bodies = append(o.bodies, o.body(n))
	}
	for _, kind := range []struct {
		name    string
		request func(n int64) (method, path, body string)
	}{{"points", o.points}, {"commands", o.command}, {"queries", o.query}} {
		o.measure(r, kind.name, kind.request)
	}
	r.Save()
}

// overload sends requests and looks at what comes of them.
type overload struct {
	t      *target
	http   *http.Client
	source string
	bodies []string // of points, made before the clock starts: the load generator has the same cores
	sent   atomic.Int64
}

// overloadBodies is how many different requests of points there are: hardly any comes twice
// within what consumers write at a time.
const overloadBodies = 4096

func (o *overload) points(n int64) (method, path, body string) {
	return http.MethodPost, "/api/live-data/ingest", o.bodies[n%overloadBodies]
}

// body is a thousand points of ten series.
func (o *overload) body(n int) string {
	var text strings.Builder
	fmt.Fprintf(&text, `{"sourceId":%q,"series":[`, o.source)
	at := month(0).Add(time.Duration(n) * time.Minute).UnixMilli()
	for series := range 10 {
		if series > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"metric":"m%d","timestamps":[`, series)
		for p := range int64(100) {
			if p > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, "%d", at+p*600)
		}
		text.WriteString(`],"values":[` + strings.Repeat("20.5,", 99) + "21]}")
	}
	text.WriteString("]}")
	return text.String()
}

func (o *overload) command(n int64) (method, path, body string) {
	return http.MethodPost, "/api/commands/execute", fmt.Sprintf(
		`{"type":"CREATE_NODE","payload":{"id":%q,"name":"node %d","entityType":"object","properties":{"n":%d}}}`,
		uuid.NewString(), n, n)
}

func (o *overload) query(n int64) (method, path, body string) {
	from := month(0).Add(time.Duration(n%1000) * time.Minute)
	return http.MethodGet, fmt.Sprintf(
		"/api/live-data/query?sourceId=%s&metric=m%d&aggregation=avg,max&interval=1m&from=%d&to=%d",
		o.source, n%10, from.UnixMilli(), from.Add(time.Hour).UnixMilli(),
	), ""
}

// answered is what came of requests.
type answered struct {
	mu       sync.Mutex
	accepted []time.Duration
	refused  []time.Duration // 429 and 503 with Retry-After
	timeouts int             // 504
	wrong    map[string]int  // what must not be
	unsent   int
}

// ask creates one request.
func (o *overload) ask(into *answered, method, path, body string) {
	request, err := http.NewRequest(method, "http://"+o.t.Listen+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+o.t.First.AdminKey)
	request.Header.Set("X-Workspace-Id", o.t.First.WorkspaceID)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	began := time.Now()
	response, err := o.http.Do(request)
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	took := time.Since(began)
	into.mu.Lock()
	defer into.mu.Unlock()
	switch {
	case err != nil:
		into.wrong["no answer"]++
	case response.StatusCode/100 == 2:
		into.accepted = append(into.accepted, took)
	case response.Header.Get("Retry-After") == "":
		into.wrong[fmt.Sprintf("%d without Retry-After", response.StatusCode)]++
	case response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusTooManyRequests:
		into.refused = append(into.refused, took)
	case response.StatusCode == http.StatusGatewayTimeout:
		into.timeouts++
	default:
		into.wrong[fmt.Sprint(response.StatusCode)]++
	}
}

// capacity has callers ask as quickly as they are answered.
func (o *overload) capacity(request func(int64) (string, string, string)) (*answered, float64) {
	into := &answered{wrong: map[string]int{}}
	var work sync.WaitGroup
	began := time.Now()
	for range overloadCallers {
		work.Go(func() {
			for time.Since(began) < overloadTime {
				method, path, text := request(o.sent.Add(1))
				o.ask(into, method, path, text)
			}
		})
	}
	work.Wait()
	return into, float64(len(into.accepted)) / time.Since(began).Seconds()
}

// flood sends at a rate, whether it is answered or not. Those that are open at its end
// are the rest.
func (o *overload) flood(
	rate float64, request func(int64) (string, string, string),
) (into *answered, rest *sync.WaitGroup) {
	into = &answered{wrong: map[string]int{}}
	var work sync.WaitGroup
	var open atomic.Int64
	began, due := time.Now(), 0
	for time.Since(began) < overloadTime {
		for ; due < int(rate*time.Since(began).Seconds()); due++ {
			if open.Load() >= overloadOpen {
				into.mu.Lock()
				into.unsent++
				into.mu.Unlock()
				continue
			}
			open.Add(1)
			work.Go(func() {
				defer open.Add(-1)
				method, path, text := request(o.sent.Add(1))
				o.ask(into, method, path, text)
			})
		}
		time.Sleep(time.Millisecond)
	}
	return into, &work
}

// measure measures one kind.
func (o *overload) measure(r *record.Recorder, name string, request func(int64) (string, string, string)) {
	b := o.t.b
	b.Helper()
	quiet, perSecond := o.capacity(request)
	require.NotEmpty(b, quiet.accepted)
	usual := percentile(quiet.accepted, 0.99)
	r.Say("%s: %.0f requests/s from %d callers, p99 %s", name, perSecond, overloadCallers, usual.Round(time.Millisecond))
	flooded, rest := o.flood(overloadFactor*perSecond, request)
	took := o.recovery(usual, request) // from the last request that was sent, while others are still being answered
	rest.Wait()
	all := len(flooded.accepted) + len(flooded.refused) + flooded.timeouts + flooded.unsent
	r.Say(
		"%s: three times that: %d accepted, %d refused, %d timed out, %d not sent; as quick as before after %s; wrong: %v",
		name, len(flooded.accepted), len(flooded.refused), flooded.timeouts, flooded.unsent, took.Round(10*time.Millisecond),
		flooded.wrong,
	)
	require.Empty(b, flooded.wrong)
	add := func(what, unit string, value float64) { r.Add(name+"/"+what, unit, value) }
	times := func(prefix string, of []time.Duration) {
		for _, p := range []struct {
			name  string
			share float64
		}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
			add(prefix+p.name, "ms", float64(percentile(of, p.share).Microseconds())/1000)
		}
	}
	add("capacity", "requests/s", perSecond)
	times("capacity-", quiet.accepted)
	add("accepted", "requests/s", float64(len(flooded.accepted))/overloadTime.Seconds())
	times("accepted-", flooded.accepted)
	add("refused", "%", 100*float64(len(flooded.refused))/float64(all))
	times("refused-", flooded.refused)
	add("timeouts", "requests", float64(flooded.timeouts))
	add("unsent", "%", 100*float64(flooded.unsent)/float64(all))
	add("recovered", "s", took.Seconds())
}

// recovery asks, one request after the other, until ten in a row are accepted within
// what all but one in a hundred took at capacity.
func (o *overload) recovery(usual time.Duration, request func(int64) (string, string, string)) time.Duration {
	began := time.Now()
	for quick := 0; quick < 10; {
		require.Less(o.t.b, time.Since(began), recoverLimit, "the server does not recover")
		into := &answered{wrong: map[string]int{}}
		method, path, text := request(o.sent.Add(1))
		o.ask(into, method, path, text)
		if quick++; len(into.accepted) == 0 || into.accepted[0] > usual {
			quick = 0
			time.Sleep(20 * time.Millisecond)
		}
	}
	return time.Since(began)
}

// percentile returns the time that a share of all did not exceed; zero of none.
func percentile(of []time.Duration, share float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[min(int(float64(len(of))*share), len(of)-1)]
}
