package promql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/reply"
)

// The engine quotes labels and regular expressions of a query, which can have escaped bytes that are not UTF-8.
func TestErrorsAreCompleteWhateverTheyQuote(t *testing.T) {
	const message = "invalid destination label name in label_replace(): \xff"
	mediaType, body := errorDialect().Encode(nil, &reply.DialectError{Code: "execution", Message: message})
	require.Equal(t, "application/json; charset=utf-8", mediaType)
	require.Equal(t, `{"status":"error","errorType":"execution",`+
		`"error":"invalid destination label name in label_replace(): `+"\ufffd"+`"}`, string(body))
}
