package embedded

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// pythonNames are tried in this order; the packages have wheels for these.
var pythonNames = []string{"python3", "python3.13", "python3.12", "python3.11", "python3.14"}

// pythonProbe reports whether an interpreter can make a venv with pip in it.
const pythonProbe = `import sys
if sys.version_info < (3, 11): sys.exit("version %d.%d" % sys.version_info[:2])
try: import venv, ensurepip
except ImportError: sys.exit("venv %d.%d" % sys.version_info[:2])
`

// findPython returns the path of a Python 3.11 or later with venv, or says what
// to install.
func findPython(ctx context.Context) (string, error) {
	var old, bare string // versions of interpreters that will not do
	for _, name := range pythonNames {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		probe := exec.CommandContext(ctx, path, "-c", pythonProbe)
		probe.Env = childEnv()
		out, err := probe.CombinedOutput()
		if err == nil {
			return path, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		switch what, version, _ := strings.Cut(strings.TrimSpace(string(out)), " "); what {
		case "version":
			old = version
		case "venv":
			bare = version
		}
	}
	const way = "; or configure addresses of engines that run elsewhere (LIVEGRAPH_CLICKHOUSE_URL, " +
		"LIVEGRAPH_POSTGRES_URL, …)"
	switch {
	case bare != "":
		return "", fmt.Errorf("the embedded engines need Python's venv module, which Python %s lacks here: "+
			"install it (Debian, Ubuntu: apt install python%s-venv)"+way, bare, bare)
	case old != "":
		return "", fmt.Errorf("the embedded engines need Python 3.11 or later, found %s: install it (Debian, Ubuntu: "+
			"apt install python3.11 python3.11-venv; Fedora: dnf install python3.11; macOS: brew install python)"+way, old)
	default:
		return "", errors.New("the embedded engines need Python 3.11 or later, and there is no python3 in PATH: install it " +
			"(Debian, Ubuntu: apt install python3 python3-venv; Fedora: dnf install python3; macOS: brew install python)" + way)
	}
}
