package fault_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

func TestKindOfFindsTheFirstErrorInTheChain(t *testing.T) {
	inner := fault.New(fault.NotFound, "No such source")
	require.Equal(t, fault.NotFound, fault.KindOf(fmt.Errorf("reading source: %w", inner)))
	require.Equal(t, fault.Internal, fault.KindOf(errors.New("boom")))
	require.False(t, fault.Is(nil, fault.Internal))
}

func TestTheCauseIsLoggedAndNeverPublic(t *testing.T) {
	cause := errors.New("dial tcp 10.0.0.7:5432: refused")
	err := fault.Wrap(cause, fault.Unavailable, "The store is down").After(2 * time.Second)
	require.ErrorIs(t, err, cause)
	require.Contains(t, err.Error(), "10.0.0.7")
	require.NotContains(t, err.Message, "10.0.0.7")
	require.Equal(t, 2*time.Second, err.RetryAfter)
}

func TestFieldNamesWhatIsAllowed(t *testing.T) {
	err := fault.Field(fault.Invalid, "payload.entityType", "is not an entity type", "concept", "object")
	require.Equal(t, map[string]any{
		"field": "payload.entityType", "reason": "is not an entity type", "allowed": []string{"concept", "object"},
	}, err.Details)
}

func TestEveryKindHasAName(t *testing.T) {
	for kind := fault.Internal; kind <= fault.Timeout; kind++ {
		require.NotEmpty(t, kind.String())
	}
	require.Equal(t, "not_found", fault.NotFound.String())
	require.Equal(t, "unknown", fault.Kind(200).String())
}
