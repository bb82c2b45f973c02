package supervisor

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
	var claim *PortClaim
	for claim == nil {
		var err error
		port, err = RandomPort()
		require.NoError(t, err)
		claim, _ = ClaimPort(t.Context(), port)
	}
	_, err := ClaimPort(t.Context(), port)
	require.ErrorIs(t, err, ErrPortTaken)
	time.AfterFunc(100*time.Millisecond, claim.Release)
	again, err := ClaimPort(t.Context(), port)
	require.NoError(t, err)
	again.Release()
}
