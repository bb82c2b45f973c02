package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/services/doctor"
)

func TestCallersThatShareAnAddressAreWarnedAbout(t *testing.T) {
	require.NotContains(t, byName(t, doctor.Check(t.Context(), doctor.Target{})), "proxies")
	r := byName(t, doctor.Check(t.Context(), doctor.Target{SharesAddresses: true}))["proxies"]
	require.Equal(t, doctor.Warning, r.Status)
	require.Contains(t, r.Advice, "LIVEGRAPH_API_TRUSTED_PROXIES")
}
