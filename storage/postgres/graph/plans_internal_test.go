package graphstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGenericPlansAreMadeAgainBeforeTablesGrowMuch(t *testing.T) {
	p, now := &connPlans{}, time.Now()
	require.True(t, p.use(1, now), "plans of an earlier user of the connection")
	require.False(t, p.use(maxPlannedRows-1, now.Add(maxPlanAge)))
	require.True(t, p.use(1, now.Add(maxPlanAge)), "used for too many rows")
	require.False(t, p.use(1, now.Add(2*maxPlanAge)))
	require.True(t, p.use(1, now.Add(2*maxPlanAge+1)), "too old")
}
