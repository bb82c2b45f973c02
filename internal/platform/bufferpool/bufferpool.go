// Package bufferpool keeps buffers that have served for anyone who needs one next.
//
// A sync.Pool lets go of what is in it at every second collection. Large buffers bring
// collections about so often that each use would make its buffer again, and so bring about
// the next one. A plain list, on the other hand, keeps forever what one busy minute
// needed. This one keeps what is used: buffers that nobody has wanted for a while go.
package bufferpool

import (
	"sync"
	"time"
)

// Pool holds buffers, the one that was used last on top. It is safe for concurrent use.
type Pool[T any] struct {
	most int // see New
	kept time.Duration

	mu    sync.Mutex
	list  []spare[T]
	size  int         // of all
	sweep *time.Timer // while there are buffers
}

type spare[T any] struct {
	buffer T
	size   int
	since  time.Time
}

// New returns an empty list of buffers, whose sizes, in a unit of the caller's, may come to
// most together, and which are let go of after lying there for so long, give or take as
// much again.
func New[T any](most int, kept time.Duration) *Pool[T] {
	return &Pool[T]{most: most, kept: kept}
}

// Get returns the buffer that was used last, if there is any.
func (l *Pool[T]) Get() (buffer T, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.list) - 1
	if last < 0 {
		return buffer, false
	}
	top := l.list[last]
	l.list[last] = spare[T]{} // the list's own memory must not keep what is taken from it
	l.list = l.list[:last]
	l.size -= top.size
	return top.buffer, true
}

// Put keeps a buffer of this size, unless it is larger than all may be together. Those
// that have waited longest make room for it: buffers are now of another size.
func (l *Pool[T]) Put(buffer T, size int) {
	if size > l.most {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+size > l.most {
		// By an eighth at a time, since all that stay are moved.
		least := max(l.size+size-l.most, l.most/8)
		gone, freed := 0, 0
		for ; gone < len(l.list) && freed < least; gone++ {
			freed += l.list[gone].size
		}
		l.drop(gone)
	}
	l.list = append(l.list, spare[T]{buffer: buffer, size: size, since: time.Now()})
	l.size += size
	if l.sweep == nil {
		l.sweep = time.AfterFunc(l.kept, l.forget)
	}
}

// Len returns how many buffers there are.
func (l *Pool[T]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list)
}

// Size returns what the buffers come to, in the unit of Put.
func (l *Pool[T]) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// forget lets go of what nobody has wanted for long: it lies at the bottom, the longest
// unused first.
func (l *Pool[T]) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, limit := 0, time.Now().Add(-l.kept)
	for old < len(l.list) && !l.list[old].since.After(limit) {
		old++
	}
	l.drop(old)
	if len(l.list) > 0 {
		l.sweep.Reset(l.kept)
		return
	}
	l.sweep, l.list = nil, nil
}

// drop lets go of the lowest n. The caller holds the lock.
func (l *Pool[T]) drop(n int) {
	for _, s := range l.list[:n] {
		l.size -= s.size
	}
	left := copy(l.list, l.list[n:])
	clear(l.list[left:])
	l.list = l.list[:left]
}
