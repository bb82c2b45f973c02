package scan

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// requireNumber requires that a number is read, at the end of a body and before other bytes.
func requireNumber(t require.TestingT, text string) {
	want, err := strconv.ParseFloat(text, 64)
	for _, next := range []string{"", ",", "]}", ",12345678,", " , 1.5,2.5", "}0.12345"} {
		got, end, out := Number([]byte("["+text+next), 1)
		require.Equal(t, len(text), end-1, text+next)
		if err != nil {
			require.Equal(t, Range, out, text+next)
			continue
		}
		require.Equal(t, OK, out, text+next)
		require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s: want %v, got %v", text+next, want, got)
	}
}

func TestNumbersAreRoundedAsStrconvRoundsThem(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "0.0", "-0.0", "1", "-1", "21.5", "1e3", "1E+3", "1e-3", "9007199254740991", "9007199254740992",
		"9007199254740993",
		"9007199254740993.0", "18446744073709551615", "18446744073709551616", "9999999999999999999", "99999999999999999999",
		"1e22", "1e23",
		"8.442911973260991817129021e-309", "5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400",
		"-1e-400", "1e400", "-1e400",
		"1.7976931348623157e308", "1.7976931348623159e308", "0.000000000000000000000000000000000000001", "1e99999999999",
		"1e-99999999999",
		"123456789012345678", "0.30000000000000004", "0.1234567890123456789012345678901234567890", "7.2057594037927933e16",
		"0e400", "12345678e-8",
	} {
		requireNumber(t, text)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40_000 {
		requireNumber(t, strconv.FormatFloat(math.Float64frombits(rng.Uint64()>>1&^(1<<62)), "eEfg"[rng.IntN(4)], -1, 64))
		requireNumber(t, strconv.FormatFloat(rng.NormFloat64()*1000, 'f', rng.IntN(22), 64))
		requireNumber(t, strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)+"e"+strconv.Itoa(rng.IntN(80)-40))
	}
}

func TestAnyDecimalIsRoundedAsStrconvRoundsIt(t *testing.T) {
	for _, pattern := range []string{
		`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,4})?`,
		`-?(0|[1-9][0-9]{0,7})(\.[0-9]{1,7})?(e[0-9])?`,
	} {
		decimal := rapid.StringMatching(pattern)
		rapid.Check(t, func(t *rapid.T) { requireNumber(t, decimal.Draw(t, "number")) })
	}
}

func TestWhatIsNoJSONNumberIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "-", "+1", ".5", "1.", "1.e3", "01", "-01", "00", "1e", "1e+", "1e-", "e5", "NaN", "Infinity", "-Infinity", "-.5",
		"0123456789",
	} {
		for _, next := range []string{"", ",", ",12345678,", "]         "} {
			_, _, out := Number([]byte(text+next), 0)
			require.Equal(t, Syntax, out, text+next)
		}
	}
}

func TestANumberEndsWhereItEnds(t *testing.T) {
	for text, end := range map[string]int{
		"1,2": 1, "0x10": 1, "1.5]": 3, "12345678}": 8, "1e5 ": 3, "-0 ": 2, "1_000": 1,
	} {
		_, got, out := Number([]byte(text), 0)
		require.Equal(t, OK, out, text)
		require.Equal(t, end, got, text)
	}
}

func TestIntegersAreReadWhole(t *testing.T) {
	for text, want := range map[string]struct {
		value uint64
		out   Outcome
	}{
		"0": {0, OK}, "-0": {0, OK}, "12345678": {12345678, OK}, "7": {7, OK}, "1700000000000": {1700000000000, OK},
		"9223372036854775807": {math.MaxInt64, OK},
		"9999999999999999999": {9999999999999999999, OK}, "10000000000000000000": {0, Range}, "-1": {0, Range},
		"1.5": {0, NotInteger}, "1.0": {0, NotInteger}, "1e3": {0, NotInteger}, "-1.5": {0, NotInteger},
		"": {0, Syntax}, "-": {0, Syntax}, "01": {0, Syntax}, "1.": {0, Syntax}, "1e": {0, Syntax},
		"x": {0, Syntax},
	} {
		value, end, out := Integer([]byte(text), 0)
		require.Equal(t, want.out, out, text)
		if out == OK {
			require.Equal(t, want.value, value, text)
			require.Equal(t, len(text), end)
		}
	}
}

// Epochs reads integers in any order as Integer reads each of them.
func TestEpochsAreReadAsIntegers(t *testing.T) {
	integer := rapid.OneOf(
		rapid.StringMatching(`1700000[0-9]{0,13}`), rapid.StringMatching(`-?(1700000[0-2]|0000000[01]|x)[0-9]{0,9}`),
		rapid.StringMatching(`1700000[0-2][0-9]{0,6}[.eE][0-9]{0,2}`), rapid.StringN(0, 20, -1),
		rapid.SampledFrom([]string{"\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x001"}),
	)
	next := rapid.SampledFrom([]string{"", ",", "]", ",1700000000000,1700000000000", " ,                   "})
	rapid.Check(t, func(t *rapid.T) {
		var epochs Epochs
		for range 20 {
			requireSameInteger(t, &epochs, integer.Draw(t, "integer")+next.Draw(t, "next"))
		}
	})
	var epochs Epochs
	for range 2 { // fewer than eight digits are not cached
		requireSameInteger(t, &epochs, "1700000,1234567890123456")
	}
}

func requireSameInteger(t require.TestingT, epochs *Epochs, body string) {
	want, wantEnd, wantOutcome := Integer([]byte(body), 0)
	value, end, outcome := epochs.Integer([]byte(body), 0)
	require.Equal(t, wantOutcome, outcome, "%q", body)
	if outcome == OK {
		require.Equal(t, want, value, "%q", body)
	}
	if outcome != Syntax {
		require.Equal(t, wantEnd, end, "%q", body)
	}
}

func TestThePowersOfTenAreRight(t *testing.T) {
	for i, power := range powers {
		exponent := minPower + i
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil)
		want := new(big.Int)
		if exponent >= 0 {
			want.Rsh(new(big.Int).Lsh(ten, 256), uint(ten.BitLen()+256-128))
		} else {
			want.Div(new(big.Int).Lsh(big.NewInt(1), 512), ten)
			want.Rsh(want, uint(want.BitLen()-128))
		}
		got := new(big.Int).SetUint64(power[0])
		got.Or(got.Lsh(got, 64), new(big.Int).SetUint64(power[1]))
		require.Zero(t, want.Cmp(got), "1e%d", exponent)
	}
}

// BenchmarkReadNumber parses many different numbers of each form, so that
// a branch predictor cannot learn them.
func BenchmarkReadNumber(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 50_000
	for name, draw := range map[string]func() string{
		"integer": func() string { return strconv.Itoa(rng.IntN(100_000)) },
		"short":   func() string { return strconv.FormatFloat(rng.Float64()*100, 'f', rng.IntN(4)+1, 64) },
		"full":    func() string { return strconv.FormatFloat(rng.Float64()*1000, 'g', -1, 64) },
	} {
		b.Run("form="+name, func(b *testing.B) {
			var in []byte
			for range n {
				in = append(append(in, draw()...), ',')
			}
			for b.Loop() {
				for i := 0; i < len(in); i++ {
					_, end, out := Number(in, i)
					if out != OK {
						b.Fatal(out)
					}
					i = end
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/number")
		})
	}
}
