package testenv

import (
	"bytes"
	"sync"
)

// Output collects what several goroutines write, a log for example.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to it.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String is all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
