package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
)

// refusable is in the names of those nodes whose creation a fault has the database refuse:
// such a command fails for an internal reason, and its record is a dead letter.
const refusable = "refusable"

// redrive has an operator put the dead letters of commands back while their callers try
// again: whatever comes first, each command has one effect at most.
func (l *Load) redrive(ctx context.Context, _ *rand.Rand) { _ = l.putBack(ctx) }

// putBackAll puts all dead letters of commands back when everything is decided that was
// asked for: none of them may have an effect beside that of its repetition.
func (l *Load) putBackAll(ctx context.Context, _ Stores) error { return l.putBack(ctx) }

func (l *Load) putBack(ctx context.Context) error {
	type asked struct {
		Filter struct {
			Topics []string `json:"topics"`
		} `json:"filter"`
		Again  bool   `json:"again"`
		Cursor string `json:"cursor,omitempty"`
	}
	next := asked{Again: true}
	next.Filter.Topics = []string{commandsTopic}
	for {
		var did struct{ NextCursor *string }
		q := call{method: http.MethodPost, path: "/admin/api/dead-letters/redrive", body: body(next)}
		if err := l.operator.do(ctx, q, http.StatusOK, &did); err != nil {
			return fmt.Errorf("putting dead letters back: %w", err)
		}
		if did.NextCursor == nil {
			return nil
		}
		next.Cursor = *did.NextCursor
	}
}
