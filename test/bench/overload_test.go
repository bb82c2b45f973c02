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
	overloadTime    = 15 * time.Second // per load
	overloadCallers = 64               // to measure the capacity
	overloadFactor  = 3
	// overloadMaxOpen is the maximum number of concurrent requests. Requests beyond it are not sent
	// and are counted as unsent; the server would not accept the connections.
	overloadMaxOpen = 3000
	// recoverLimit bounds the wait until the server is as fast as before.
	recoverLimit = time.Minute
)

// BenchmarkOverload measures how many requests of a kind the server answers to callers that wait for
// their answers, and then sends three times as many regardless of the answers. It reports the latency
// of accepted requests, the number and latency of refusals, and when after the load the server was as
// fast as before it. The server and its engines use one processor, the load generator the others.
func BenchmarkOverload(b *testing.B) {
	r := record.New(b)
	var t *target
	if !separateProcessors(b, func() { t = start(b) }) {
		r.Logf("the load generator and the service share the processors")
	}
	r.Engines(t.engines())
	o := &overload{t: t, http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxIdleConnsPerHost: overloadMaxOpen, DisableCompression: true,
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

// overload sends requests and classifies the answers.
type overload struct {
	t      *target
	http   *http.Client
	source string
	bodies []string // of points, built in advance because the load generator may share the cores
	sent   atomic.Int64
}

// overloadBodies is the number of different bodies of points. It is large enough that hardly any
// repeats within one insert of a consumer.
const overloadBodies = 4096

func (o *overload) points(n int64) (method, path, body string) {
	return http.MethodPost, "/api/live-data/ingest", o.bodies[n%overloadBodies]
}

// body returns a thousand points of ten series.
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

// overloadResult is the answers to requests.
type overloadResult struct {
	mu         sync.Mutex
	accepted   []time.Duration
	refused    []time.Duration // 429 and 503 with Retry-After
	timeouts   int             // 504
	unexpected map[string]int  // not allowed
	unsent     int
}

// send sends one request.
func (o *overload) send(result *overloadResult, method, path, body string) {
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
	result.mu.Lock()
	defer result.mu.Unlock()
	switch {
	case err != nil:
		result.unexpected["no answer"]++
	case response.StatusCode/100 == 2:
		result.accepted = append(result.accepted, took)
	case response.Header.Get("Retry-After") == "":
		result.unexpected[fmt.Sprintf("%d without Retry-After", response.StatusCode)]++
	case response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusTooManyRequests:
		result.refused = append(result.refused, took)
	case response.StatusCode == http.StatusGatewayTimeout:
		result.timeouts++
	default:
		result.unexpected[fmt.Sprint(response.StatusCode)]++
	}
}

// capacity has callers send requests as fast as they are answered.
func (o *overload) capacity(request func(int64) (string, string, string)) (*overloadResult, float64) {
	result := &overloadResult{unexpected: map[string]int{}}
	var work sync.WaitGroup
	began := time.Now()
	for range overloadCallers {
		work.Go(func() {
			for time.Since(began) < overloadTime {
				method, path, text := request(o.sent.Add(1))
				o.send(result, method, path, text)
			}
		})
	}
	work.Wait()
	return result, float64(len(result.accepted)) / time.Since(began).Seconds()
}

// flood sends requests at a rate regardless of the answers. It returns while some are pending.
func (o *overload) flood(
	rate float64, request func(int64) (string, string, string),
) (result *overloadResult, pending *sync.WaitGroup) {
	result = &overloadResult{unexpected: map[string]int{}}
	var work sync.WaitGroup
	var open atomic.Int64
	began, due := time.Now(), 0
	for time.Since(began) < overloadTime {
		for ; due < int(rate*time.Since(began).Seconds()); due++ {
			if open.Load() >= overloadMaxOpen {
				result.mu.Lock()
				result.unsent++
				result.mu.Unlock()
				continue
			}
			open.Add(1)
			work.Go(func() {
				defer open.Add(-1)
				method, path, text := request(o.sent.Add(1))
				o.send(result, method, path, text)
			})
		}
		time.Sleep(time.Millisecond)
	}
	return result, &work
}

// measure measures one kind of request.
func (o *overload) measure(r *record.Recorder, name string, request func(int64) (string, string, string)) {
	b := o.t.b
	b.Helper()
	atCapacity, perSecond := o.capacity(request)
	require.NotEmpty(b, atCapacity.accepted)
	p99 := percentile(atCapacity.accepted, 0.99)
	r.Logf("%s: %.0f requests/s from %d callers, p99 %s", name, perSecond, overloadCallers, p99.Round(time.Millisecond))
	flooded, pending := o.flood(overloadFactor*perSecond, request)
	took := o.recovery(p99, request) // from the last request sent, while others are pending
	pending.Wait()
	all := len(flooded.accepted) + len(flooded.refused) + flooded.timeouts + flooded.unsent
	r.Logf(
		"%s: at three times that: %d accepted, %d refused, %d timed out, %d not sent; recovered after %s; unexpected: %v",
		name, len(flooded.accepted), len(flooded.refused), flooded.timeouts, flooded.unsent, took.Round(10*time.Millisecond),
		flooded.unexpected,
	)
	require.Empty(b, flooded.unexpected)
	add := func(what, unit string, value float64) { r.Add(name+"/"+what, unit, value) }
	times := func(prefix string, durations []time.Duration) {
		for _, p := range []struct {
			name  string
			share float64
		}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
			add(prefix+p.name, "ms", float64(percentile(durations, p.share).Microseconds())/1000)
		}
	}
	add("capacity", "requests/s", perSecond)
	times("capacity-", atCapacity.accepted)
	add("accepted", "requests/s", float64(len(flooded.accepted))/overloadTime.Seconds())
	times("accepted-", flooded.accepted)
	add("refused", "%", 100*float64(len(flooded.refused))/float64(all))
	times("refused-", flooded.refused)
	add("timeouts", "requests", float64(flooded.timeouts))
	add("unsent", "%", 100*float64(flooded.unsent)/float64(all))
	add("recovered", "s", took.Seconds())
}

// recovery sends one request after the other until ten in a row are accepted within the p99 at
// capacity.
func (o *overload) recovery(limit time.Duration, request func(int64) (string, string, string)) time.Duration {
	began := time.Now()
	for quick := 0; quick < 10; {
		require.Less(o.t.b, time.Since(began), recoverLimit, "the server does not recover")
		result := &overloadResult{unexpected: map[string]int{}}
		method, path, text := request(o.sent.Add(1))
		o.send(result, method, path, text)
		if quick++; len(result.accepted) == 0 || result.accepted[0] > limit {
			quick = 0
			time.Sleep(20 * time.Millisecond)
		}
	}
	return time.Since(began)
}

// percentile returns the given percentile, or 0 if there are no durations.
func percentile(durations []time.Duration, share float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	return durations[min(int(float64(len(durations))*share), len(durations)-1)]
}
