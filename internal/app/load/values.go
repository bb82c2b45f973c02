package load

import (
	"fmt"
	"math"
	"strconv"
)

// Values is the kind of values of the points. It has little effect on the speed and much on
// the size of the points on disk.
type Values string

// The kinds of values. A value depends only on series and step.
const (
	ValuesGauge    Values = "gauge"    // two decimals: a slow wave with noise, like a temperature
	ValuesCounter  Values = "counter"  // growing whole numbers, like bytes sent
	ValuesConstant Values = "constant" // one value per series
	ValuesRandom   Values = "random"   // all 53 bits are random: the worst case
)

// AllValues are the kinds of values.
var AllValues = []Values{ValuesGauge, ValuesCounter, ValuesConstant, ValuesRandom}

func (v Values) check() error {
	switch v {
	case ValuesGauge, ValuesCounter, ValuesConstant, ValuesRandom:
		return nil
	}
	return fmt.Errorf("values must be one of %v", AllValues)
}

// At returns the value of a series at a step.
func (v Values) At(series int, step int64) float64 {
	if v == ValuesRandom {
		return random(series, step)
	}
	return float64(v.hundredths(series, step)) / 100
}

// append appends the value as JSON.
func (v Values) append(b []byte, series int, step int64) []byte {
	if v == ValuesRandom {
		return strconv.AppendFloat(b, random(series, step), 'g', -1, 64)
	}
	return appendHundredths(b, v.hundredths(series, step))
}

// hundredths returns a value in hundredths. It uses only integers, because it is called for
// every point of a load.
func (v Values) hundredths(series int, step int64) int64 {
	i := int64(series)
	switch v {
	case ValuesCounter:
		rate := 1 + i*7919%997
		return 100 * (step*rate + int64(noise(series, step)%uint64(rate)))
	case ValuesConstant:
		return 100 * (i % 100)
	default:
		const period, noiseRange = 3600, 64
		phase := (step + i*131) % period
		wave := min(phase, period-phase) / 2
		return 1000 + i*7919%9000 + wave + int64(noise(series, step)%noiseRange)
	}
}

// random returns a number from 0 to 1, which may be exactly 0.
func random(series int, step int64) float64 {
	return math.Ldexp(float64(noise(series, step)>>11), -53)
}

// noise is SplitMix64 (Steele, Lea, Flood 2014) over series and step.
func noise(series int, step int64) uint64 {
	z := uint64(series)<<40 ^ uint64(step)
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// appendHundredths appends a number of hundredths, not below 0, as a decimal.
func appendHundredths(b []byte, h int64) []byte {
	b = appendInt(b, h/100)
	fraction := byte(h % 100)
	if fraction == 0 {
		return b
	}
	b = append(b, '.', '0'+fraction/10)
	if fraction%10 != 0 {
		b = append(b, '0'+fraction%10)
	}
	return b
}

// appendInt is strconv.AppendInt for a number not below 0.
func appendInt(b []byte, n int64) []byte { return strconv.AppendUint(b, uint64(n), 10) }
