package webhooks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The values are from the tests of the libraries of Standard Webhooks.
func TestASignatureIsThatOfTheSpecification(t *testing.T) {
	signature, err := sign([]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "msg_p5jXN8AQM9LWM0D4loKWxJek",
		time.Unix(1614265330, 0), `{"test": 2432232314}`)
	require.NoError(t, err)
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", signature)
}
