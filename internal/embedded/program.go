package embedded

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/platform/durable"
)

// programs are the servers in Python: the HTTP interface of ClickHouse for the chdb
// library, milvus-lite on the loopback interface, and an OpenAI-compatible API for an
// embedding model.
//
//go:embed assets
var programs embed.FS

// programExtensions are the extensions of the files of a server.
var programExtensions = []string{".py", ".txt"}

// writeProgram writes the files of a server, which are in a folder of assets, into the engine's folder and returns the
// path of its main file.
func writeProgram(s *engine.Setup, folder, main string) (string, error) {
	dir := filepath.Join(s.Dir, "program")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("starting %s: %w", s.Name, err)
	}
	for _, name := range []string{"shared", folder} {
		err := fs.WalkDir(programs, path.Join("assets", name), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains(programExtensions, path.Ext(file)) {
				return err
			}
			raw, err := programs.ReadFile(file)
			if err != nil {
				return err
			}
			return durable.WriteFile(filepath.Join(dir, path.Base(file)), raw, 0o600)
		})
		if err != nil {
			return "", fmt.Errorf("starting %s: %w", s.Name, err)
		}
	}
	return filepath.Join(dir, main), nil
}
