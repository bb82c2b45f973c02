package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

// surroundings gives the notes on where this runs and what is measured.
func surroundings(ctx context.Context) (map[string]string, error) {
	model := "unknown processor"
	if models, err := cpu.InfoWithContext(ctx); err == nil && len(models) > 0 {
		model = models[0].ModelName
	}
	memory, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking at the machine: %w", err)
	}
	kernel, err := host.KernelVersionWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking at the machine: %w", err)
	}
	version, err := ask(ctx, "go", "env", "GOVERSION")
	if err != nil {
		return nil, err
	}
	commit, err := commit(ctx)
	return map[string]string{
		noteMachine: fmt.Sprintf("%d cores (%s), %.0f GiB, %s %s", runtime.NumCPU(), model, float64(memory.Total)/(1<<30), runtime.GOOS, kernel),
		noteGo:      "Go " + strings.TrimPrefix(version, "go"),
		noteCommit:  commit,
	}, err
}

// commit gives the commit that is measured; a mark says that files are not as it
// has them, the page's own left aside.
func commit(ctx context.Context) (string, error) {
	id, err := ask(ctx, "git", "rev-parse", "--short=10", "HEAD")
	if err != nil {
		return "", err
	}
	changed, err := ask(ctx, "git", "status", "--porcelain", "--", ".", ":!"+resultsPath, ":!"+pagePath)
	if changed != "" {
		id += " with changes"
	}
	return id, err
}

// ask runs a program and gives what it prints.
func ask(ctx context.Context, program string, args ...string) (string, error) {
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
