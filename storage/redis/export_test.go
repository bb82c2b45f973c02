package redis

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

// AtTime returns the script of requests with a clock that its caller sets: two more
// arguments, seconds and microseconds. Empty: the script has no such line any more.
func AtTime() *redis.Script {
	const clock = "local t = redis.call('TIME')"
	if strings.Count(countRequestsText, clock) != 1 {
		return nil
	}
	return redis.NewScript(strings.Replace(countRequestsText, clock, "local t = {ARGV[11], ARGV[12]}", 1))
}

// Arguments returns what an ask passes to the script.
func (ask *RequestAsk) Arguments() (keys []string, args []any) { return ask.keys(), ask.args() }

// ReadRequests reads what the script answered.
func ReadRequests(command *redis.Cmd) (RequestAnswer, error) { return requestAnswer(command) }
