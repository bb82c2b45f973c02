package testenv

import (
	"bytes"
	"sync"
)

// Output is a buffer that several goroutines may write to, for example a log.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p to the buffer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// String returns everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
