// Package proxy is a way to a server over TCP that can be made as bad as networks
// get: connections that break in the middle of a request or of an answer, that are
// slow, silent or refused. The server and other ways to it stay as they are.
//
// What is wrong with the way is said by rules (see [Rule]), of which several may hold
// at once; without any it only carries bytes. Each connection costs two goroutines and
// two buffers of 32 KiB, and there are 4096 connections at most.
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
	mostConns   = 4096
	pieceBytes  = 32 << 10
	dialTimeout = 5 * time.Second
	// halfClosed bounds how long a connection of which one side has ended waits for
	// the other.
	halfClosed = 5 * time.Second
)

// Proxy is the way to one server. It is safe for concurrent use. Close ends it.
type Proxy struct {
	listener net.Listener
	work     sync.WaitGroup

	mu      sync.Mutex
	target  string
	closed  bool
	rules   []*Rule
	changed chan struct{} // closed when the rules are others
	conns   map[*conn]struct{}
	dice    *rand.Rand

	most int // connections at a time
	cuts atomic.Int64
}

// Listen opens a way at an address, host:port, to a target that may be given later (see
// [Proxy.To]). What it leaves to chance follows from the seed.
func Listen(address, target string, seed uint64) (*Proxy, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("opening a proxy: %w", err)
	}
	p := &Proxy{
		listener: listener, target: target, changed: make(chan struct{}), conns: map[*conn]struct{}{},
		dice: rand.New(rand.NewPCG(seed, 0)), most: mostConns,
	}
	p.work.Go(p.accept)
	return p, nil
}

// Address is where clients connect, host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// To makes new connections lead to another server, host:port.
func (p *Proxy) To(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Apply makes a rule hold until undo is called. undo may be called again.
func (p *Proxy) Apply(rule Rule) (undo func()) {
	r := &rule
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(slices.Clip(p.rules), r)
	p.announce()
	if r.Refuse {
		p.endAll(r)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.rules = slices.DeleteFunc(slices.Clone(p.rules), func(other *Rule) bool { return other == r })
		p.announce()
	}
}

// Heal takes all rules away.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = nil
	p.announce()
}

// CutAll ends the connections that stand, without a farewell. New ones are taken.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endAll(&Rule{})
}

// Connections counts those that stand.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// Cuts counts the connections that were ended by a rule or by CutAll.
func (p *Proxy) Cuts() int64 { return p.cuts.Load() }

// Close ends the connections and the listener, and waits until nothing is left.
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

// announce tells those who wait that the rules are others. The lock is held.
func (p *Proxy) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// endAll ends the connections that a rule is for. The lock is held.
func (p *Proxy) endAll(r *Rule) {
	for c := range p.conns {
		if r.concerns(c.lot) {
			p.cuts.Add(1)
			c.reset()
		}
	}
}

// now returns what holds for a connection, and what is closed when that changes.
func (p *Proxy) now(lot float64) (verdict, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var v verdict
	for _, r := range p.rules {
		if r.concerns(lot) {
			v.add(r)
		}
	}
	return v, p.changed
}

// chance rolls the dice.
func (p *Proxy) chance(of float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dice.Float64() < of
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(time.Millisecond) // too many open files: they will be fewer
			continue
		}
		if c := p.admit(near); c != nil {
			p.work.Go(func() { p.serve(c) })
		}
	}
}

// admit takes a connection in, or ends it.
func (p *Proxy) admit(near net.Conn) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &conn{near: near, lot: p.dice.Float64(), done: make(chan struct{})}
	refused := p.closed || len(p.conns) >= p.most ||
		slices.ContainsFunc(p.rules, func(r *Rule) bool { return r.Refuse && r.concerns(c.lot) })
	if refused {
		c.reset()
		return nil
	}
	p.conns[c] = struct{}{}
	return c
}

// serve carries bytes both ways until both have ended or one has failed.
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
	far, err := net.DialTimeout("tcp", target, dialTimeout)
	if err != nil {
		c.reset()
		return
	}
	if !c.join(far) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { p.pump(c, Answer) })
	p.pump(c, Request)
	back.Wait()
}
