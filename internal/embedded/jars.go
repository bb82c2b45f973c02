package embedded

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
)

// leastJava is the oldest Java that what is installed this way runs on.
const leastJava = 17

// JarSet is software in Java that tests and benchmarks use: Maven fetches it.
type JarSet struct {
	Name  string // of its folder in the cache
	Title string // for people
	POM   string // names the jars to Maven
	Sums  string // of every jar, in the format of sha256sum
	Size  string // of all, for people
}

// Jars are the files of a JarSet and the Java to run them.
type Jars struct {
	java string // the program
	dir  string // of the jars
}

// InstallJars makes the jars ready in the user's cache: at once when they are
// there, else by Maven, which downloads them. Processes that need them at the same
// time wait for the one that does it. The error says what this machine lacks.
func InstallJars(ctx context.Context, set JarSet, progress func(Event)) (*Jars, error) {
	java, err := findJava(ctx, set.Title)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(set.POM + set.Sums))
	dir, err := cacheDir(set.Name + "-" + hex.EncodeToString(sum[:6]))
	if err != nil {
		return nil, err
	}
	return set.ensure(ctx, java, dir, reporter(set.Name, progress))
}

// Command makes a command of Java: its options, a class and its arguments, in a
// directory, with our environment except for our settings, which hold secrets.
func (j *Jars) Command(dir string, options []string, class string, args ...string) *exec.Cmd {
	options = append(slices.Clip(options), "-cp", filepath.Join(j.dir, "*"), class)
	cmd := exec.Command(j.java, append(options, args...)...)
	cmd.Dir, cmd.Env = dir, childEnv()
	return cmd
}

// ensure returns the jars in dir, and fetches them if they are not whole.
func (set *JarSet) ensure(ctx context.Context, java, dir string, report func(string, int, string)) (*Jars, error) {
	jars := &Jars{java: java, dir: dir}
	if set.whole(dir) {
		return jars, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("making a folder for %s: %w; set %s to another", set.Title, err, enginesDirVariable)
	}
	lock, err := lockInstallation(ctx, dir+".lock", report)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if set.whole(dir) { // somebody did it while we waited
		return jars, nil
	}
	if err := set.fetch(ctx, dir, lock, report); err != nil {
		report("failed", -1, err.Error())
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, markerName), []byte("{}\n"), 0o644); err != nil {
		return nil, set.failed(err)
	}
	report("ready", 100, dir)
	return jars, nil
}

// failed wraps what went wrong with the installation.
func (set *JarSet) failed(err error) error { return fmt.Errorf("installing %s: %w", set.Title, err) }

// whole reports whether dir has been checked once and still has its jars.
func (set *JarSet) whole(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, markerName)); err != nil {
		return false
	}
	for _, name := range set.wanted() {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// wanted returns the names of the jars by their hashes.
func (set *JarSet) wanted() map[string]string {
	wanted := map[string]string{}
	for line := range strings.Lines(set.Sums) {
		if hash, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			wanted[hash] = name
		}
	}
	return wanted
}

// fetch lets Maven copy the jars into dir and checks them. Maven holds the
// lock with us: if we are killed, nobody begins again before it has ended.
func (set *JarSet) fetch(ctx context.Context, dir string, lock *os.File, report func(string, int, string)) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return set.failed(errors.New(
			"it comes by Maven, and there is no mvn in PATH: install it (Debian, Ubuntu: apt install maven)",
		))
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing an incomplete installation: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return set.failed(err)
	}
	pom := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pom, []byte(set.POM), 0o644); err != nil {
		return set.failed(err)
	}
	report("installing", 0, "Maven fetches the jars, about "+set.Size)
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
	cmd.Env, cmd.ExtraFiles, cmd.WaitDelay = childEnv(), []*os.File{lock}, killPatience
	if out, err := cmd.CombinedOutput(); err != nil {
		return set.failed(fmt.Errorf("mvn into %s: %w: %s", dir, err, firstLine(string(out))))
	}
	return set.check(dir)
}

// check compares the jars of dir with the hashes that they must have: all of
// them, and no others.
func (set *JarSet) check(dir string) error {
	have, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return err
	}
	wanted := set.wanted()
	for hash, name := range wanted {
		got, err := hashOf(filepath.Join(dir, name))
		if err != nil {
			return set.failed(err)
		}
		if got != hash {
			return set.failed(fmt.Errorf("%s is not the file that it should be", name))
		}
	}
	if len(have) != len(wanted) {
		return set.failed(fmt.Errorf("it came with %d jars, and %d are known", len(have), len(wanted)))
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

// findJava returns the path of a Java that is new enough, or says what to install.
func findJava(ctx context.Context, title string) (string, error) {
	const way = "install it (Debian, Ubuntu: apt install openjdk-17-jre-headless)"
	java := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")
	if os.Getenv("JAVA_HOME") == "" {
		var err error
		if java, err = exec.LookPath("java"); err != nil {
			return "", fmt.Errorf("%s needs Java %d or later, and there is no java in PATH: %s", title, leastJava, way)
		}
	}
	probe := exec.CommandContext(ctx, java, "-version")
	probe.Env = childEnv()
	out, err := probe.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s needs Java %d or later, and %s does not run: %w", title, leastJava, java, err)
	}
	if version := javaVersion(string(out)); version < leastJava {
		return "", fmt.Errorf("%s needs Java %d or later, and %s is version %d: %s", title, leastJava, java, version, way)
	}
	return java, nil
}

// javaVersion reads the major version out of what `java -version` prints, such as
// `openjdk version "17.0.15" 2025-04-15`; 0 where there is none. (Before 9 it was
// the second number: "1.8.0".)
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
