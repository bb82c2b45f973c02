// Package proxy is a TCP proxy that simulates bad networks: connections that break in the middle of
// a request or of an answer, and that are slow, silent or refused. It does not affect the server or
// its other clients.
//
// Rules configure the faults (see [Rule]); several may be active at once, and without any the proxy
// only forwards bytes. Each connection uses two goroutines and two buffers of 32 KiB, and there are
// at most 4096 connections.
package proxy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxConns    = 4096
	chunkBytes  = 32 << 10
	dialTimeout = 5 * time.Second
	// halfClosedTimeout bounds how long a half-closed connection waits for the other side to close.
	halfClosedTimeout = 5 * time.Second
)

// Proxy forwards connections to one server. It is safe for concurrent use. Close ends it.
type Proxy struct {
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex
	target  string
	closed  bool
	rules   []*Rule
	changed chan struct{} // closed when the rules change
	conns   map[*conn]struct{}
	dice    *rand.Rand

	maxConns int // maximum number of connections
	cuts     atomic.Int64
}

// Listen opens a proxy at an address, host:port, to a target that may be set later (see
// [Proxy.SetTarget]). Its random choices are determined by the seed.
func Listen(address, target string, seed uint64) (*Proxy, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("opening a proxy: %w", err)
	}
	p := &Proxy{
		listener: listener, target: target, changed: make(chan struct{}), conns: map[*conn]struct{}{},
		dice: rand.New(rand.NewPCG(seed, 0)), maxConns: maxConns,
	}
	p.work.Go(p.accept)
	return p, nil
}

// Address returns the address for clients, host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// SetTarget sets the target of new connections, host:port.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Apply activates a rule until undo is called. undo may be called several times.
func (p *Proxy) Apply(rule Rule) (undo func()) {
	r := &rule
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(slices.Clip(p.rules), r)
	p.notifyChanged()
	if r.Refuse {
		p.endAll(r)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.rules = slices.DeleteFunc(slices.Clone(p.rules), func(other *Rule) bool { return other == r })
		p.notifyChanged()
	}
}

// ClearRules removes all rules.
func (p *Proxy) ClearRules() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
	p.notifyChanged()
}

// CutAll resets the existing connections. New ones are accepted.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endAll(&Rule{})
}

// Connections returns the number of open connections.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// Cuts returns the number of connections that were ended by a rule or by CutAll.
func (p *Proxy) Cuts() int64 { return p.cuts.Load() }

// Close closes the connections and the listener, and waits until all goroutines have returned.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	err := p.listener.Close()
	p.endAll(&Rule{})
	p.mu.Unlock()
	p.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// notifyChanged wakes the goroutines that wait for a change of the rules. The lock is held.
func (p *Proxy) notifyChanged() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// endAll resets the connections to which a rule applies. The lock is held.
func (p *Proxy) endAll(r *Rule) {
	for c := range p.conns {
		if r.appliesTo(c.sample) {
			p.cuts.Add(1)
			c.reset()
		}
	}
}

// effectOn returns the combined effect of the rules on a connection, and a channel that is closed
// when the rules change.
func (p *Proxy) effectOn(sample float64) (effect, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var v effect
	for _, r := range p.rules {
		if r.appliesTo(sample) {
			v.add(r)
		}
	}
	return v, p.changed
}

// chance returns true with the given probability.
func (p *Proxy) chance(probability float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dice.Float64() < probability
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(time.Millisecond) // probably too many open files: try again
			continue
		}
		if c := p.admit(client); c != nil {
			p.work.Go(func() { p.serve(c) })
		}
	}
}

// admit registers a connection, or resets it.
func (p *Proxy) admit(client net.Conn) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &conn{client: client, sample: p.dice.Float64(), done: make(chan struct{})}
	refused := p.closed || len(p.conns) >= p.maxConns ||
		slices.ContainsFunc(p.rules, func(r *Rule) bool { return r.Refuse && r.appliesTo(c.sample) })
	if refused {
		c.reset()
		return nil
	}
	p.conns[c] = struct{}{}
	return c
}

// serve forwards bytes in both directions until both have ended or one has failed.
func (p *Proxy) serve(c *conn) {
	defer func() {
		c.end()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", target, dialTimeout)
	if err != nil {
		c.reset()
		return
	}
	if !c.setServer(server) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { p.forward(c, Answer) })
	p.forward(c, Request)
	back.Wait()
}
