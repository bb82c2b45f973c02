package machine

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/livegraph/livegraph/internal/app/output"
)

const maxName = 64 // characters

// cleanName returns a name fit to be a tag: valid UTF-8, printable, trimmed, at most 64 characters, never empty.
func cleanName(name string) string {
	if clean := CleanText(name, maxName); clean != "" {
		return clean
	}
	return "unnamed"
}

// CleanText returns the text printable, trimmed and at most limit characters long.
func CleanText(text string, limit int) string {
	printable := []rune(output.Printable(strings.TrimSpace(text)))
	return strings.TrimSpace(string(printable[:min(len(printable), limit)]))
}

// longNumber is a number that is an id (a pid, a port) and not a part of a name, as in python3.11 or x264.
var longNumber = regexp.MustCompile(`[0-9]{4,}`)

// programName returns the name that the instances of a program share: kernel threads lose what follows the slash
// (kworker/0:1-events is kworker), and long numbers become a star (worker-18231 is worker-*).
func programName(command string) string {
	name := cleanName(command)
	if cut := strings.IndexByte(name, '/'); cut > 0 {
		name = name[:cut]
	}
	return longNumber.ReplaceAllString(name, "*")
}

// interfaceName returns the series name of a network interface. Those that container engines create and remove, each
// time under a new name, are summed by prefix.
func interfaceName(name string) string {
	for _, prefix := range []string{"veth", "br-", "cali", "cni", "flannel", "lxc", "tap", "vnet", "ifb"} {
		if strings.HasPrefix(name, prefix) {
			return strings.TrimSuffix(prefix, "-") + "*"
		}
	}
	return cleanName(name)
}

// Size returns bytes with a binary prefix.
func Size[N uint64 | float64](bytes N) string {
	value, unit := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	return fmt.Sprintf("%.4g %s", value, unit)
}
