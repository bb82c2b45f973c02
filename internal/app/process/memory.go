package process

import (
	"os"
	"runtime/debug"
)

// memoryLimit is where the collector begins to work harder, unless GOMEMLIMIT says
// otherwise. What a full load of points needs at a time is below it; without a limit
// twice that would be taken before it is collected.
const memoryLimit = 640 << 20

// LimitMemory sets it.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
