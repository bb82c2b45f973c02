// Package jars installs Java software for tests and benchmarks into the user's cache. Maven downloads
// it, and each jar is pinned by its hash.
package jars

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/install"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

const (
	// minJavaVersion is the minimum Java version for the installed jars.
	minJavaVersion = 17
	// markerName is the name of the file that marks checked jars.
	markerName = "livegraph-complete.json"
	// outputTimeout bounds the wait for the output of a Maven that was interrupted.
	outputTimeout = 5 * time.Second
)

// Set describes jars.
type Set struct {
	Name  string // name of its folder in the cache
	Title string // for messages
	POM   string // Maven project with the jars
	Sums  string // hash of every jar, in the format of sha256sum
	Size  string // total size, for messages
}

// Installation is the installed files of a Set and the Java to run them.
type Installation struct {
	java string // path of the java program
	dir  string // folder of the jars
}

// Install returns the jars from the user's cache. If they are missing, it runs Maven,
// which downloads them. Concurrent processes wait for the one that installs. The error
// describes what this machine lacks. progress may be nil.
func (set Set) Install(ctx context.Context, progress func(engine.Event)) (*Installation, error) {
	java, err := findJava(ctx, set.Title)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(set.POM + set.Sums))
	dir, err := install.CacheDir(set.Name + "-" + hex.EncodeToString(sum[:6]))
	if err != nil {
		return nil, err
	}
	report := engine.NewReport(set.Name, progress)
	err = install.Ensure(ctx, dir, report, func() bool { return set.complete(dir) }, func(lock *os.File) error {
		if err := set.fetch(ctx, dir, lock, report); err != nil {
			return err
		}
		return set.wrapError(os.WriteFile(filepath.Join(dir, markerName), []byte("{}\n"), 0o644))
	})
	if err != nil {
		return nil, err
	}
	return &Installation{java: java, dir: dir}, nil
}

// Command returns a Java command with options, a class and its arguments, in a directory,
// with the environment of [supervisor.Env].
func (in *Installation) Command(dir string, options []string, class string, args ...string) *exec.Cmd {
	options = append(slices.Clip(options), "-cp", filepath.Join(in.dir, "*"), class)
	cmd := exec.Command(in.java, append(options, args...)...)
	cmd.Dir, cmd.Env = dir, supervisor.Env()
	return cmd
}

// wrapError wraps an error of the installation. It returns nil for nil.
func (set Set) wrapError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("installing %s: %w", set.Title, err)
}

// complete reports whether dir was checked after its installation and still has all jars.
func (set Set) complete(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, markerName)); err != nil {
		return false
	}
	for _, name := range set.jarNames() {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// jarNames returns the names of the jars by hash.
func (set Set) jarNames() map[string]string {
	wanted := map[string]string{}
	for line := range strings.Lines(set.Sums) {
		if hash, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			wanted[hash] = name
		}
	}
	return wanted
}

// fetch runs Maven to copy the jars into dir and checks them. Maven inherits the lock: if
// this process is killed, no other one starts before Maven has ended.
func (set Set) fetch(ctx context.Context, dir string, lock *os.File, report install.Report) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return set.wrapError(errors.New(
			"it comes by Maven, and there is no mvn in PATH: install it (Debian, Ubuntu: apt install maven)",
		))
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing an incomplete installation: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return set.wrapError(err)
	}
	pom := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pom, []byte(set.POM), 0o644); err != nil {
		return set.wrapError(err)
	}
	report("installing", 0, "Maven fetches the jars, about "+set.Size)
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
	cmd.Env, cmd.ExtraFiles, cmd.WaitDelay = supervisor.Env(), []*os.File{lock}, outputTimeout
	if out, err := cmd.CombinedOutput(); err != nil {
		return set.wrapError(fmt.Errorf("mvn into %s: %w: %s", dir, err, firstLine(string(out))))
	}
	return set.check(dir)
}

// check compares the jars in dir with the pinned hashes. Exactly these jars must exist.
func (set Set) check(dir string) error {
	have, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return err
	}
	wanted := set.jarNames()
	for hash, name := range wanted {
		got, err := hashOf(filepath.Join(dir, name))
		if err != nil {
			return set.wrapError(err)
		}
		if got != hash {
			return set.wrapError(fmt.Errorf("%s is not the file that it should be", name))
		}
	}
	if len(have) != len(wanted) {
		return set.wrapError(fmt.Errorf("it came with %d jars, and %d are known", len(have), len(wanted)))
	}
	return nil
}

func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// findJava returns the path of a Java of a sufficient version. Its error describes what to
// install.
func findJava(ctx context.Context, title string) (string, error) {
	const installHint = "install it (Debian, Ubuntu: apt install openjdk-17-jre-headless)"
	java := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")
	if os.Getenv("JAVA_HOME") == "" {
		var err error
		if java, err = exec.LookPath("java"); err != nil {
			return "", fmt.Errorf(
				"%s needs Java %d or later, and there is no java in PATH: %s", title, minJavaVersion, installHint,
			)
		}
	}
	probe := exec.CommandContext(ctx, java, "-version")
	probe.Env = supervisor.Env()
	out, err := probe.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s needs Java %d or later, and %s does not run: %w", title, minJavaVersion, java, err)
	}
	if version := javaVersion(string(out)); version < minJavaVersion {
		return "", fmt.Errorf(
			"%s needs Java %d or later, and %s is version %d: %s", title, minJavaVersion, java, version, installHint,
		)
	}
	return java, nil
}

// javaVersion parses the major version in the output of `java -version`, such as
// `openjdk version "17.0.15" 2025-04-15`. It returns 0 if there is none. (Before Java 9,
// the major version was the second number: "1.8.0".)
func javaVersion(text string) int {
	_, quoted, _ := strings.Cut(text, ` version "`)
	end := strings.IndexFunc(quoted, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return 0
	}
	n, _ := strconv.Atoi(quoted[:end])
	return n
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
