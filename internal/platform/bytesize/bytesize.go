// Package bytesize formats numbers of bytes.
package bytesize

import "fmt"

// Format formats a number of bytes with a binary unit, such as 1.5 GiB.
func Format(bytes int64) string {
	const unit = 1024
	value, name := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if value < unit {
			break
		}
		value, name = value/unit, next
	}
	if name == "B" {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, name)
}
