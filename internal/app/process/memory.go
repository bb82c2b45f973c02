package process

import (
	"os"
	"runtime/debug"
)

// memoryLimit is the soft memory limit of the Go runtime in bytes, unless GOMEMLIMIT is
// set. A full load of points needs less. Without a limit the heap would grow to twice the
// bytes in use before it is collected.
const memoryLimit = 640 << 20

// LimitMemory sets the memory limit unless GOMEMLIMIT is set.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
