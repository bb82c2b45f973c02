package embedded

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/durable"
)

// programs are our servers in Python: ClickHouse's HTTP interface over the chdb
// library, milvus-lite on the loopback, and an embedding model behind OpenAI's
// interface.
//
//go:embed assets
var programs embed.FS

// programFiles are the endings of what a server needs beside it.
var programFiles = []string{".py", ".txt"}

// program writes a server's files into the engine's folder and gives the path of
// its main file.
func (s *site) program(name, main string) (string, error) {
	dir := filepath.Join(s.Dir, "program")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("starting %s: %w", name, err)
	}
	for _, folder := range []string{"shared", name} {
		err := fs.WalkDir(programs, path.Join("assets", folder), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains(programFiles, path.Ext(file)) {
				return err
			}
			raw, err := programs.ReadFile(file)
			if err != nil {
				return err
			}
			return durable.WriteFile(filepath.Join(dir, path.Base(file)), raw, 0o600)
		})
		if err != nil {
			return "", fmt.Errorf("starting %s: %w", name, err)
		}
	}
	return filepath.Join(dir, main), nil
}

// pythonEnv is our environment without what would lead an interpreter to
// modules other than the venv's, or to other behaviour; and without our
// settings, which hold secrets.
func pythonEnv() []string {
	env := slices.DeleteFunc(childEnv(), func(kv string) bool { return strings.HasPrefix(kv, "PYTHON") })
	return append(env, "PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "TZ=UTC")
}
