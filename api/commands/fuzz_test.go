package commands

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// FuzzWaitTimeout: whatever a caller prefers, it waits for at most 30 seconds.
func FuzzWaitTimeout(f *testing.F) {
	for _, header := range []string{
		"", "wait=5", "WAIT = \"7\"; x=y", "respond-async, wait=10", "wait", "wait=-1", "wait=99999999999", "wait=4294967295",
		"wait=1.5", "wait=\"\"", ",;=,",
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		w := httptest.NewRecorder()
		wait, err := ReadWaitTimeout(w, &http.Request{Header: http.Header{"Prefer": {header}}})
		if err != nil {
			require.Equal(t, fault.Malformed, fault.KindOf(err))
			return
		}
		require.True(t, wait >= 0 && wait <= maxWait)
	})
}

// FuzzIssued: an id without a valid signature is not reported as issued.
func FuzzIssued(f *testing.F) {
	s := &issuer{key: [32]byte{1}}
	workspace := uuid.MustParse("0194a5b0-0000-7000-8000-00000000000a")
	mine := s.issue(workspace)
	f.Add(mine[:12], []byte{1, 2, 3, 4})
	f.Add(make([]byte, 12), make([]byte, 4))
	f.Fuzz(func(t *testing.T, head, signature []byte) {
		var id uuid.UUID
		copy(id[:signatureOffset], head)
		_, ok := s.issued(workspace, id)
		copy(id[signatureOffset:], signature)
		_, signed := s.issued(workspace, id)
		right := s.sign(workspace, id)
		require.Equal(t, string(right) == string(id[signatureOffset:]), signed)
		if ok { // one in 2^32 is valid by chance
			require.Equal(t, make([]byte, 4), right)
		}
		copy(id[signatureOffset:], right)
		_, ok = s.issued(workspace, id)
		require.True(t, ok)
		_, ok = s.issued(uuid.Nil, id)
		require.False(t, ok, "of another workspace")
	})
}
