package supervisor

import (
	"os"
	"slices"
	"strings"
)

// Env returns the environment of this process without the Livegraph settings, for a child process.
// They contain secrets, which would be readable in the environment of that process.
func Env() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "LIVEGRAPH_") })
}

// PythonEnv returns Env without the variables that would change the modules or the behaviour of
// the interpreter.
func PythonEnv() []string {
	env := slices.DeleteFunc(Env(), func(kv string) bool { return strings.HasPrefix(kv, "PYTHON") })
	return append(env, "PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "TZ=UTC")
}
