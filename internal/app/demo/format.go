package demo

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// quantity writes a number with its unit, short.
func quantity(n float64, unit string, p palette) string {
	switch unit {
	case "percent":
		return fmt.Sprintf("%.1f %%", n)
	case "bytes":
		return byteSize(n)
	case "bytes/s":
		return byteSize(n) + "/s"
	case "1/s":
		return fmt.Sprintf("%.1f/s", n)
	case "celsius":
		return fmt.Sprintf("%.0f %s", n, p.degree)
	default:
		return fmt.Sprintf("%.2f", n)
	}
}

// byteSize writes a number of bytes with a binary prefix and three digits.
func byteSize(n float64) string {
	prefixes := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for math.Abs(n) >= 999.5 && i < len(prefixes)-1 {
		n /= 1024
		i++
	}
	digits := 0
	if i > 0 {
		digits = max(0, 2-int(math.Log10(max(1, math.Abs(n)))))
	}
	return strconv.FormatFloat(n, 'f', digits, 64) + " " + prefixes[i]
}

// duration writes a duration short: 3.1 ms, 120 ms, 4.2 s, 3m21s, 5h02m.
func duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// thousands writes a count with commas.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// sparkline draws the last values, one a character. The scale begins at zero
// and ends at the highest value, but at 10 at least: an idle machine's noise is
// not to look like work.
func sparkline(values []float64, width int, levels []rune) string {
	if width <= 0 {
		return ""
	}
	values = values[max(0, len(values)-width):]
	top := 10.0
	for _, v := range values {
		top = max(top, v)
	}
	line := make([]rune, len(values))
	for i, v := range values {
		level := int(v / top * float64(len(levels)))
		line[i] = levels[min(max(level, 0), len(levels)-1)]
	}
	return string(line)
}
