package value_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/livedata/value"
)

// TestNumbersAreWrittenAsStrconvWritesThem covers decimals of few places, their neighbours, numbers at the bounds of
// 15 digits, and numbers of any bits.
func TestNumbersAreWrittenAsStrconvWritesThem(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	check := func(number float64) {
		for _, n := range []float64{
			number, -number, math.Nextafter(number, math.Inf(1)), math.Nextafter(number, math.Inf(-1)),
		} {
			format := byte('f')
			if size := math.Abs(n); size != 0 && (size < 1e-6 || size >= 1e21) {
				format = 'e'
			}
			want := strconv.FormatFloat(n, format, -1, 64)
			require.Equal(t, want, string(value.AppendNumber(nil, n)))
		}
	}
	for _, number := range []float64{
		0, 1, 0.5, 0.1, 1e-4, 1e-5, 12.3456, 12.34567, 100, 1e10, 1e11, 99999999999.9999, 999999999999999, 1e15, 1e16, 1e20,
		1e21, 1e22, 123456789012.3456, 1e300, math.SmallestNonzeroFloat64, math.MaxInt64,
	} {
		check(number)
	}
	scales := []float64{1, 10, 100, 1e3, 1e4, 1e5}
	for range 100_000 {
		digits := random.Int64N(int64(math.Pow10(1 + random.IntN(17))))
		check(float64(digits) / scales[random.IntN(len(scales))])
		if bits := math.Float64frombits(random.Uint64()); math.Abs(bits) < math.MaxFloat64 {
			check(bits)
		}
	}
}

func BenchmarkAppendNumber(b *testing.B) {
	buffer := make([]byte, 0, 64)
	for _, c := range []struct {
		name   string
		number float64
	}{{"two places", 70.15}, {"whole", 1234}, {"sixteen digits", 70.15 / 3}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				buffer = value.AppendNumber(buffer[:0], c.number)
			}
		})
	}
}
