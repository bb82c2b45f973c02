package machine

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// other is the name under which everything beyond a roster's bound is summed.
const other = "other"

// longestName is the most characters of a name: enough to recognise it, far
// below what a tag may hold.
const longestName = 64

// roster bounds how many names a tag ever takes: the first max names are
// themselves for as long as the sampler lives, all later ones are "other".
type roster struct {
	max   int
	known map[string]struct{}
}

func newRoster(limit int) *roster {
	return &roster{max: limit, known: make(map[string]struct{}, limit)}
}

// admit returns the name to use for name.
func (r *roster) admit(name string) string {
	if _, ok := r.known[name]; ok {
		return name
	}
	if len(r.known) >= r.max {
		return other
	}
	r.known[name] = struct{}{}
	return name
}

// longestPath is the most characters of a path in an inventory.
const longestPath = 400

// cleanName makes a name that any process or device may have chosen fit to be a
// tag: valid UTF-8, printable, trimmed, at most longestName characters, never
// empty.
func cleanName(name string) string { return cleanText(name, longestName) }

// cleanText is cleanName for texts of another length.
func cleanText(name string, longest int) string {
	var b strings.Builder
	count := 0
	for _, r := range strings.TrimSpace(name) {
		if count == longest {
			break
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = '_'
		}
		b.WriteRune(r)
		count++
	}
	if clean := strings.TrimSpace(b.String()); clean != "" {
		return clean
	}
	return "unnamed"
}

// longDigits is the run of digits from which on a number in a process's name is
// taken for an id (a pid, a port, a job) and not for a part of the name, as it
// is in python3.11 or x264.
const longDigits = 4

// processName returns the series name of a process: its command without what
// differs from instance to instance, so that a restart goes on in the same
// series. Kernel threads lose what follows the slash (kworker/0:1-events is
// kworker), and long numbers become a star (worker-18231 is worker-*).
func processName(command string) string {
	name := cleanName(command)
	if cut := strings.IndexByte(name, '/'); cut > 0 {
		name = name[:cut]
	}
	return starDigits(name)
}

func starDigits(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		end := i
		for end < len(name) && name[end] >= '0' && name[end] <= '9' {
			end++
		}
		switch {
		case end-i >= longDigits:
			b.WriteByte('*')
		case end > i:
			b.WriteString(name[i:end])
		default:
			end = i + 1
			b.WriteByte(name[i])
		}
		i = end
	}
	return b.String()
}

// virtualInterfaces are the prefixes of interfaces that container engines make
// and remove, each time under a new name; all of one prefix are summed.
var virtualInterfaces = []string{"veth", "br-", "cali", "cni", "flannel", "lxc", "tap", "vnet", "ifb"}

// interfaceName returns the series name of a network interface.
func interfaceName(name string) string {
	for _, prefix := range virtualInterfaces {
		if strings.HasPrefix(name, prefix) {
			return strings.TrimSuffix(prefix, "-") + "*"
		}
	}
	return cleanName(name)
}
