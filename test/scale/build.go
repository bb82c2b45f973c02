package scale

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
)

// build is a build of the binary.
type build struct{ path, version string }

// readBuild returns the build in a file.
func readBuild(ctx context.Context, path string) (build, error) {
	out, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return build{}, fmt.Errorf("reading the version of %s: %w", path, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 2 {
		return build{}, fmt.Errorf("%s has no version", path)
	}
	return build{path: path, version: fields[1]}, nil
}

// makeNext builds the binary with another version into a directory: a change of the version is visible
// in the metrics of a process, so it is certain which binary that runs.
func makeNext(ctx context.Context, dir string) (build, error) {
	path := filepath.Join(dir, "livegraph-next")
	out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-w -X main.version=next", "-o", path,
		"github.com/livegraph/livegraph/cmd/livegraph").CombinedOutput()
	if err != nil {
		return build{}, fmt.Errorf("building the next version: %w: %s", err, out)
	}
	return readBuild(ctx, path)
}

// build returns the build that the processes run after the upgrades so far. When all builds have been
// used, upgrades change between the last two.
func (c *cluster) build() build {
	n, last := c.upgrades, len(c.options.Builds)-1
	if n > last {
		n = last - (n-last)%2
	}
	return c.options.Builds[n]
}

// requireVersion returns an error if a process runs another build than the current one.
func (c *cluster) requireVersion(ctx context.Context) error {
	for _, r := range c.env.Roles("") {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Metrics+"/metrics", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		page, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		if want := fmt.Sprintf("version=%q", c.build().version); !strings.Contains(string(page), want) {
			return fmt.Errorf("%s does not run version %s", r.Name, c.build().version)
		}
	}
	return nil
}
