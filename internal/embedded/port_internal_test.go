package embedded

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPortThatIsTakenForAMomentIsWaitedFor(t *testing.T) {
	holder, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	time.AfterFunc(100*time.Millisecond, func() { _ = holder.Close() })
	l, err := listenWithRetry("tcp", holder.Addr().String(), portTimeout)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

func TestAnAddressThatCannotBeListenedOnFailsAtOnce(t *testing.T) {
	start := time.Now()
	_, err := listenWithRetry("tcp", "192.0.2.1:1", portTimeout)
	require.Error(t, err)
	require.Less(t, time.Since(start), portTimeout)
}

func TestAClaimThatIsReleasedByAnotherProcessIsAwaited(t *testing.T) {
	port := 0
	var claim *portClaim
	for claim == nil {
		var err error
		port, err = randomPort()
		require.NoError(t, err)
		claim, _ = claimPort(t.Context(), port)
	}
	_, err := claimPort(t.Context(), port)
	require.ErrorIs(t, err, errPortTaken)
	time.AfterFunc(100*time.Millisecond, claim.release)
	again, err := claimPort(t.Context(), port)
	require.NoError(t, err)
	again.release()
}
