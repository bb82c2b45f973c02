// Package traffic is a mix of requests as users make them: points in two formats,
// commands alone and in batches, queries, searches, reads of operators, and streams that
// stay open. It finds out how many a second are answered ([Traffic.Capacity]) and then
// sends as many as it is told ([Traffic.Run]), whether they are answered or not. It has
// no model of what must stand: test/chaos/load has.
package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Target is what is asked.
type Target struct {
	APIs            []string // base URLs of processes that share everything
	Key, Workspace  string   // a key with scope admin
	Name, Password  string   // of an operator
	MostOpen        int      // requests that are open at a time; 0: 1000
	Streams         int      // that are kept open; 0: 8
	RequestsTimeout time.Duration
}

// Traffic makes requests and counts what comes of them.
type Traffic struct {
	t       Target
	http    *http.Client
	streams *http.Client
	kinds   []kind
	weights int
	next    atomic.Int64 // requests so far
	source  string
	nodes   *shelf
	session atomic.Pointer[string] // cookie of the operator
	tally   tally
}

const (
	sourceName = "soak"
	mostOpen   = 1000
	openAlways = 8
	// timeLimit is how long an answer is waited for. The server's own waits are shorter.
	timeLimit = 30 * time.Second
)

// New makes what the requests are about: a source and a graph to begin with.
func New(ctx context.Context, t Target) (*Traffic, error) {
	if t.MostOpen == 0 {
		t.MostOpen = mostOpen
	}
	if t.Streams == 0 {
		t.Streams = openAlways
	}
	if t.RequestsTimeout == 0 {
		t.RequestsTimeout = timeLimit
	}
	transport := func() *http.Transport {
		return &http.Transport{
			DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext, MaxIdleConnsPerHost: t.MostOpen,
			IdleConnTimeout: 30 * time.Second,
		}
	}
	f := &Traffic{
		t: t, nodes: newShelf(), http: &http.Client{Timeout: t.RequestsTimeout, Transport: transport()},
		streams: &http.Client{Transport: transport()},
	}
	f.kinds = f.mix()
	for _, k := range f.kinds {
		f.weights += k.weight
	}
	f.tally.reset()
	var source struct{ ID string }
	err := f.must(ctx, http.MethodPost, "/api/live-data/sources", map[string]any{"name": sourceName}, &source)
	if err != nil {
		return nil, err
	}
	f.source = source.ID
	if err := f.login(ctx); err != nil {
		return nil, err
	}
	return f, f.plant(ctx)
}

// planted is how many nodes there are to begin with.
const planted = 200

// plant makes the first nodes.
func (f *Traffic) plant(ctx context.Context) error {
	var commands []any
	for range planted {
		commands = append(commands, f.nodes.create(uuid.NewString()))
	}
	if err := f.must(ctx, http.MethodPost, "/api/commands/batch", map[string]any{"commands": commands}, nil); err != nil {
		return err
	}
	for _, c := range commands {
		f.nodes.put(idOf(c))
	}
	return nil
}

// login opens a session of the operator, for the reads of the administration page.
func (f *Traffic) login(ctx context.Context) error {
	body, err := json.Marshal(map[string]string{"name": f.t.Name, "password": f.t.Password})
	if err != nil {
		return err
	}
	answer, err := f.send(ctx, f.t.APIs[0], request{
		method: http.MethodPost, path: "/admin/api/session", body: string(body), session: true,
	})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("logging in: %s", answer.Status)
	}
	cookie, _, _ := strings.Cut(answer.Header.Get("Set-Cookie"), ";")
	f.session.Store(&cookie)
	return nil
}

var errRefused = errors.New("refused")

// must makes a request of the preparations.
func (f *Traffic) must(ctx context.Context, method, path string, body, data any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	answer, err := f.send(ctx, f.t.APIs[0], request{method: method, path: path, body: string(raw)})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%w: %s %s: %d %s", errRefused, method, path, answer.StatusCode, text)
	}
	if data == nil {
		return nil
	}
	return json.Unmarshal(text, &struct{ Data any }{data})
}

// pick chooses a kind, each as often as its weight says.
func (f *Traffic) pick() *kind {
	at := rand.IntN(f.weights)
	for i := range f.kinds {
		if at -= f.kinds[i].weight; at < 0 {
			return &f.kinds[i]
		}
	}
	return &f.kinds[0]
}

// one makes a request of some kind and counts what came of it.
func (f *Traffic) one(ctx context.Context) {
	k := f.pick()
	r := k.make(f.next.Add(1))
	began := time.Now()
	status := f.ask(ctx, r)
	if ctx.Err() != nil {
		return // it was cut off by us
	}
	if r.done != nil {
		r.done(status/100 == 2)
	}
	f.tally.add(k.name, status, time.Since(began))
}

// ask makes a request and gives the status of its answer, 0 if there is none or it broke
// off.
func (f *Traffic) ask(ctx context.Context, r request) int {
	answer, err := f.first(ctx, int(f.next.Load()), r)
	if err != nil {
		return 0
	}
	_, err = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return 0
	}
	if answer.StatusCode == http.StatusUnauthorized && r.session {
		_ = f.login(ctx) // the session has ended; the next finds the new one
	}
	return answer.StatusCode
}

// first makes a request of one process, or of the next where that takes no connections,
// as a load balancer would. The caller closes the body.
func (f *Traffic) first(ctx context.Context, from int, r request) (answer *http.Response, err error) {
	for i := range f.t.APIs {
		answer, err = f.send(ctx, f.t.APIs[(from+i)%len(f.t.APIs)], r)
		if dial := (*net.OpError)(nil); !errors.As(err, &dial) || dial.Op != "dial" {
			break
		}
	}
	return answer, err
}

// send makes a request of one process. The caller closes the body.
func (f *Traffic) send(ctx context.Context, api string, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != "" {
		body = strings.NewReader(r.body)
	}
	q, err := http.NewRequestWithContext(ctx, r.method, api+r.path, body)
	if err != nil {
		return nil, err
	}
	if r.body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	if r.lines {
		q.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	if r.session {
		q.Header.Set("Sec-Fetch-Site", "same-origin")
		if cookie := f.session.Load(); cookie != nil {
			q.Header.Set("Cookie", *cookie)
		}
	} else {
		q.Header.Set("Authorization", "Bearer "+f.t.Key)
		q.Header.Set("X-Workspace-Id", f.t.Workspace)
	}
	client := f.http
	if r.stream {
		client = f.streams
	}
	return client.Do(q)
}
