package redis

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

// AtTime returns the script of requests with a clock set by two additional arguments, seconds and
// microseconds. It returns nil if the script has no longer exactly one line that reads the clock.
func AtTime() *redis.Script {
	const clock = "local t = redis.call('TIME')"
	if strings.Count(countRequestsText, clock) != 1 {
		return nil
	}
	return redis.NewScript(strings.Replace(countRequestsText, clock, "local t = {ARGV[11], ARGV[12]}", 1))
}

// Arguments returns the keys and arguments of the script.
func (ask *RequestQuery) Arguments() (keys []string, args []any) {
	return []string{ask.key()}, ask.args()
}

// ReadRequests parses the result of the script.
func ReadRequests(command *redis.Cmd) (RequestResult, error) { return requestAnswer(command) }
