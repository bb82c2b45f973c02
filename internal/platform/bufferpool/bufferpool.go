// Package bufferpool keeps buffers for reuse.
//
// A sync.Pool drops its content at every second garbage collection. Large buffers cause
// collections so often that each use would allocate its buffer again, which would cause the next
// collection. A plain free list keeps forever what one busy minute needed. This pool drops
// buffers that have not been used for a while.
package bufferpool

import (
	"sync"
	"time"
)

// Pool is a stack of buffers, with the last used one on top. It is safe for concurrent use.
type Pool[T any] struct {
	maxSize int // see New
	maxIdle time.Duration

	mu    sync.Mutex
	list  []entry[T]
	size  int         // total of all buffers
	sweep *time.Timer // nil: no buffers
}

type entry[T any] struct {
	buffer    T
	size      int
	idleSince time.Time
}

// New returns an empty pool. maxSize is the maximum total size of its buffers, in a unit of the
// caller's choice. A buffer is dropped after it was unused for maxIdle to twice maxIdle.
func New[T any](maxSize int, maxIdle time.Duration) *Pool[T] {
	return &Pool[T]{maxSize: maxSize, maxIdle: maxIdle}
}

// Get returns the last used buffer. It returns false if the pool is empty.
func (p *Pool[T]) Get() (buffer T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.list) - 1
	if last < 0 {
		return buffer, false
	}
	top := p.list[last]
	p.list[last] = entry[T]{} // the backing array must not keep a reference
	p.list = p.list[:last]
	p.size -= top.size
	return top.buffer, true
}

// Put adds a buffer of this size, unless it is larger than maxSize. It drops the buffers that
// have been unused longest to make room, because buffers of another size are now in use.
func (p *Pool[T]) Put(buffer T, size int) {
	if size > p.maxSize {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size+size > p.maxSize {
		// Free at least an eighth, because all buffers that stay are moved.
		minFreed := max(p.size+size-p.maxSize, p.maxSize/8)
		n, freed := 0, 0
		for ; n < len(p.list) && freed < minFreed; n++ {
			freed += p.list[n].size
		}
		p.evict(n)
	}
	p.list = append(p.list, entry[T]{buffer: buffer, size: size, idleSince: time.Now()})
	p.size += size
	if p.sweep == nil {
		p.sweep = time.AfterFunc(p.maxIdle, p.evictIdle)
	}
}

// Len returns the number of buffers.
func (p *Pool[T]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list)
}

// Size returns the total size of the buffers, in the unit of Put.
func (p *Pool[T]) Size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

// evictIdle drops the buffers that have been unused for maxIdle. They are at the start of the
// list, the longest unused first.
func (p *Pool[T]) evictIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, limit := 0, time.Now().Add(-p.maxIdle)
	for n < len(p.list) && !p.list[n].idleSince.After(limit) {
		n++
	}
	p.evict(n)
	if len(p.list) > 0 {
		p.sweep.Reset(p.maxIdle)
		return
	}
	p.sweep, p.list = nil, nil
}

// evict drops the first n buffers. The caller holds the lock.
func (p *Pool[T]) evict(n int) {
	for _, s := range p.list[:n] {
		p.size -= s.size
	}
	remaining := copy(p.list, p.list[n:])
	clear(p.list[remaining:])
	p.list = p.list[:remaining]
}
