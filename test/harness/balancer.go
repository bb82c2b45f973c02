package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Intervals and timeouts of the balancer.
const (
	checkEvery   = 50 * time.Millisecond
	checkTimeout = time.Second
	retryPause   = 20 * time.Millisecond // between two attempts of a request
)

// Balancer sends requests to several API processes as a load balancer does: to
// those that are ready, and to another one if a connection breaks or the answer
// is 502, 503 or 504. It checks the guarantees for restarts on every answer: no
// other 5xx, Retry-After on these, and no incomplete answer.
type Balancer struct {
	t       testing.TB
	servers []*Server
	ready   []atomic.Bool
	next    atomic.Int64
	client  *http.Client
	stop    chan struct{}
	checks  sync.WaitGroup

	Refused    atomic.Int64 // refused connections
	Unanswered atomic.Int64 // requests whose connection ended before an answer began
	Postponed  atomic.Int64 // answers 502, 503 and 504
}

// NewBalancer creates a balancer for servers that are ready. It stops when the test ends.
func NewBalancer(t testing.TB, servers []*Server) *Balancer {
	b := &Balancer{
		t: t, servers: servers, ready: make([]atomic.Bool, len(servers)), stop: make(chan struct{}),
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	for i, server := range servers {
		b.ready[i].Store(true)
		b.checks.Go(func() { b.watch(i, server.Listen) })
	}
	t.Cleanup(func() {
		close(b.stop)
		b.checks.Wait()
		b.client.CloseIdleConnections()
	})
	return b
}

// watch polls the readiness of a server until the balancer stops.
func (b *Balancer) watch(i int, listen string) {
	client := &http.Client{Timeout: checkTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
		}
		answer, err := client.Get("http://" + listen + "/readyz")
		if err == nil {
			_ = answer.Body.Close()
		}
		b.ready[i].Store(err == nil && answer.StatusCode == http.StatusOK)
	}
}

// choose returns the next ready server, or any server if none is ready.
func (b *Balancer) choose() *Server {
	for range b.servers {
		i := int(b.next.Add(1)) % len(b.servers)
		if b.ready[i].Load() {
			return b.servers[i]
		}
	}
	return b.servers[int(b.next.Add(1))%len(b.servers)]
}

// Do repeats a request until the answer is not 502, 503 or 504. It fails the test if an
// answer violates a guarantee. It returns an error only if the test has ended.
func (b *Balancer) Do(method, path string, body []byte) (Answer, error) {
	for {
		answer, err := b.send(b.choose(), method, path, body)
		switch {
		case err == nil && answer.Status < 500:
			return answer, nil
		case err != nil:
			b.countFailure(err)
		case !slices.Contains([]int{502, 503, 504}, answer.Status) || answer.Header.Get("Retry-After") == "":
			b.t.Errorf(
				"%s %s was answered %d, Retry-After %q: %+v", method, path, answer.Status, answer.Header.Get("Retry-After"),
				answer.Error,
			)
			return answer, nil
		default:
			b.Postponed.Add(1)
		}
		select {
		case <-b.t.Context().Done():
			return Answer{}, b.t.Context().Err()
		case <-time.After(retryPause):
		}
	}
}

// countFailure counts a request without an answer.
func (b *Balancer) countFailure(err error) {
	if errors.Is(err, syscall.ECONNREFUSED) {
		b.Refused.Add(1)
		return
	}
	b.Unanswered.Add(1)
	b.t.Logf("a request was not answered: %v", err)
}

func (b *Balancer) send(s *Server, method, path string, body []byte) (Answer, error) {
	var a Answer
	request, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+s.Listen+path, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header.Set("Authorization", "Bearer "+s.First.AdminKey)
	request.Header.Set("X-Workspace-Id", s.First.WorkspaceID)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := b.client.Do(request)
	if err != nil {
		return a, err
	}
	defer func() { _ = response.Body.Close() }()
	payload, err := io.ReadAll(response.Body)
	if err == nil && len(payload) > 0 {
		err = json.Unmarshal(payload, &a)
	}
	if err != nil {
		if b.t.Context().Err() == nil {
			b.t.Errorf("the answer to %s %s broke off: %v", method, path, err)
		}
		return a, fmt.Errorf("reading the answer: %w", err)
	}
	a.Status, a.Header = response.StatusCode, response.Header
	return a, nil
}
