package milvus

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// milvus-lite keeps the last of two by itself, Milvus standalone both.
func TestOfSeveralEntriesForOneIdentityTheLastIsWritten(t *testing.T) {
	one, other := Entry{Node: uuid.New(), Vector: []float32{1}}, Entry{Node: uuid.New(), Vector: []float32{2}}
	again := one
	again.Vector = []float32{3}
	second := one
	second.Chunk = 1
	require.Equal(t, []Entry{other, second, again}, lastOfEach([]Entry{one, other, second, again}))
	require.Equal(t, []Entry{one, other}, lastOfEach([]Entry{one, other}))
}
