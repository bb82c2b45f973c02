// Package machine describes the machine and the version of a measurement for documents.
package machine

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

// Environment describes where a measurement runs and what it measures.
type Environment struct {
	Machine string // cores, processor, memory, system
	Go      string // its version
	Commit  string // with a suffix if files are changed
}

// Describe returns the environment. It does not count changes of ignored files, which the measurement
// itself writes.
func Describe(ctx context.Context, ignored ...string) (s Environment, err error) {
	model := "unknown processor"
	if models, err := cpu.InfoWithContext(ctx); err == nil && len(models) > 0 {
		model = models[0].ModelName
	}
	memory, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return s, fmt.Errorf("describing the machine: %w", err)
	}
	kernel, err := host.KernelVersionWithContext(ctx)
	if err != nil {
		return s, fmt.Errorf("describing the machine: %w", err)
	}
	version, err := output(ctx, "go", "env", "GOVERSION")
	if err != nil {
		return s, err
	}
	s.Machine = fmt.Sprintf(
		"%d cores (%s), %.0f GiB, %s %s", runtime.NumCPU(), model, float64(memory.Total)/(1<<30), runtime.GOOS, kernel,
	)
	s.Go = "Go " + strings.TrimPrefix(version, "go")
	s.Commit, err = commit(ctx, ignored)
	return s, err
}

// commit returns the current commit.
func commit(ctx context.Context, ignored []string) (string, error) {
	id, err := output(ctx, "git", "rev-parse", "--short=10", "HEAD")
	if err != nil {
		return "", err
	}
	status := []string{"status", "--porcelain", "--", "."}
	for _, path := range ignored {
		status = append(status, ":!"+path)
	}
	changed, err := output(ctx, "git", status...)
	if changed != "" {
		id += " with changes"
	}
	return id, err
}

// output runs a program and returns its output.
func output(ctx context.Context, program string, args ...string) (string, error) {
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// Engines returns the versions of engines by name, from the output of livegraph doctor --json.
func Engines(report []byte, binary string) (map[string]string, error) {
	var findings []struct{ Name, Version string }
	if err := json.Unmarshal(report, &findings); err != nil {
		return nil, fmt.Errorf("reading the output of livegraph doctor: %w", err)
	}
	versions := map[string]string{}
	for _, f := range findings {
		if f.Version != "" {
			versions[f.Name] = f.Version
		}
	}
	if versions["kafka"] != "embedded" {
		return versions, nil
	}
	var err error
	versions["kafka"], err = EmbeddedKafka(binary)
	return versions, err
}

// EmbeddedKafka returns the version of the embedded Kafka.
func EmbeddedKafka(binary string) (string, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", err
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/twmb/franz-go/pkg/kfake" {
			return "kfake " + strings.TrimPrefix(dep.Version, "v"), nil
		}
	}
	return "", fmt.Errorf("%s does not contain the embedded Kafka", binary)
}
