package desk

import (
	"context"

	"github.com/livegraph/livegraph/api/request"
)

// operatorOf says who asks, for what is noted of it.
func operatorOf(ctx context.Context) string {
	if p := request.PrincipalOf(ctx); p != nil {
		return "operator " + p.ActorID.String()
	}
	return "operator"
}
