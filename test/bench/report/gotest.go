package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// testTimeout bounds the benchmarks of one section.
const testTimeout = "20m"

// run runs a section's benchmarks. It prints their progress, and the rest of the output if they fail.
func (s section) run(ctx context.Context, out io.Writer) (*results, error) {
	args := append([]string{"test", "-run", "^$", "-bench", s.bench, "-timeout", testTimeout}, s.args...)
	command := exec.CommandContext(ctx, "go", append(args, s.packages...)...)
	// An interrupt signals the whole process group, like a terminal: go does not forward it to the
	// test, nor the test to its servers.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var errs strings.Builder
	command.Stderr = &errs
	if err := command.Start(); err != nil {
		return nil, err
	}
	measured := newResults()
	var printed strings.Builder
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "  ") {
			_, _ = fmt.Fprintln(out, line)
			continue
		}
		_, _ = fmt.Fprintln(&printed, line)
		measured.read(line)
	}
	unread := lines.Err()
	if unread != nil {
		_, _ = io.Copy(io.Discard, stdout) // otherwise the command would block on a full pipe
	}
	if err := errors.Join(command.Wait(), unread); err != nil {
		return nil, fmt.Errorf("%w\n%s%s", err, printed.String(), errs.String())
	}
	if len(measured.samples) == 0 {
		return nil, fmt.Errorf("no benchmark printed a measurement:\n%s", printed.String())
	}
	return measured, nil
}
