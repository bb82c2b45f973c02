package bytesize_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/bytesize"
)

func TestSizesHaveABinaryUnit(t *testing.T) {
	for bytes, text := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 3 << 20: "3.0 MiB", 5 << 29: "2.5 GiB",
		1 << 40: "1.0 TiB", 1 << 50: "1.0 PiB", 1 << 61: "2048.0 PiB",
	} {
		require.Equal(t, text, bytesize.Format(bytes))
	}
}
