package graph_test

import (
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph/graphtest"
)

type memory = graphtest.Memory

// nodeID and edgeID return the nth id.
func nodeID(n int) uuid.UUID { return uuid.UUID{0: 1, 15: byte(n)} }
func edgeID(n int) uuid.UUID { return uuid.UUID{0: 2, 15: byte(n)} }

func actorID(n int) uuid.UUID   { return uuid.UUID{0: 3, 15: byte(n)} }
func commandID(n int) uuid.UUID { return uuid.UUID{0: 4, 14: byte(n >> 8), 15: byte(n)} }
