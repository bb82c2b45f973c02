package install

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

// pythonNames are the interpreters to try, in this order. The packages have wheels for them.
var pythonNames = []string{"python3", "python3.13", "python3.12", "python3.11", "python3.14"}

// pythonProbe checks whether an interpreter can create a venv with pip.
const pythonProbe = `import sys
if sys.version_info < (3, 11): sys.exit("version %d.%d" % sys.version_info[:2])
try: import venv, ensurepip
except ImportError: sys.exit("venv %d.%d" % sys.version_info[:2])
`

// findPython returns the path of a Python 3.11 or later with venv. Its error describes
// what to install.
func findPython(ctx context.Context) (string, error) {
	var oldVersion, withoutVenv string // versions of unusable interpreters
	for _, name := range pythonNames {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		probe := exec.CommandContext(ctx, path, "-c", pythonProbe)
		probe.Env = supervisor.Env()
		out, err := probe.CombinedOutput()
		if err == nil {
			return path, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		switch what, version, _ := strings.Cut(strings.TrimSpace(string(out)), " "); what {
		case "version":
			oldVersion = version
		case "venv":
			withoutVenv = version
		}
	}
	const alternative = "; or configure addresses of engines that run elsewhere (LIVEGRAPH_CLICKHOUSE_URL, " +
		"LIVEGRAPH_POSTGRES_URL, …)"
	switch {
	case withoutVenv != "":
		return "", fmt.Errorf("the embedded engines need Python's venv module, which Python %s lacks here: "+
			"install it (Debian, Ubuntu: apt install python%s-venv)"+alternative, withoutVenv, withoutVenv)
	case oldVersion != "":
		return "", fmt.Errorf("the embedded engines need Python 3.11 or later, found %s: install it (Debian, Ubuntu: "+
			"apt install python3.11 python3.11-venv; Fedora: dnf install python3.11; macOS: brew install python)"+alternative,
			oldVersion)
	default:
		return "", errors.New("the embedded engines need Python 3.11 or later, and there is no python3 in PATH: install it " +
			"(Debian, Ubuntu: apt install python3 python3-venv; Fedora: dnf install python3; macOS: brew install python)" +
			alternative)
	}
}
