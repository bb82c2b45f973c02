package embedded

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// apachePOM names the jars of Apache Kafka to Maven.
//
//go:embed assets/kafka/pom.xml
var apachePOM string

// apacheJars pins every jar by hash, in the format of sha256sum.
//
//go:embed assets/kafka/jars.sha256
var apacheJars string

// leastJava is the oldest Java that Apache Kafka's broker runs on.
const leastJava = 17

// ApachePackages are the jars of Apache Kafka and the Java to run them.
type ApachePackages struct {
	java string // the program
	dir  string // of the jars
}

// InstallApacheKafka makes the jars of Apache Kafka ready in the user's cache: at
// once when they are there, else by Maven, which downloads 45 MB. Processes that
// need it at the same time wait for the one that does it. The error says what
// this machine lacks.
func InstallApacheKafka(ctx context.Context, progress func(Event)) (*ApachePackages, error) {
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(apachePOM + apacheJars))
	dir, err := cacheDir("apache-kafka-" + hex.EncodeToString(sum[:6]))
	if err != nil {
		return nil, err
	}
	return ensureApache(ctx, java, dir, reporter(apacheName, progress))
}

// ensureApache gives the jars in dir, and fetches them if they are not whole.
func ensureApache(ctx context.Context, java, dir string, report func(string, int, string)) (*ApachePackages, error) {
	packages := &ApachePackages{java: java, dir: dir}
	if wholeApache(dir) {
		return packages, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("making a folder for Apache Kafka: %w; set %s to another", err, enginesDirVariable)
	}
	lock, err := lockInstallation(ctx, dir+".lock", report)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if wholeApache(dir) { // somebody did it while we waited
		return packages, nil
	}
	if err := fetchApache(ctx, dir, lock, report); err != nil {
		report("failed", -1, err.Error())
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, markerName), []byte("{}\n"), 0o644); err != nil {
		return nil, fmt.Errorf("installing Apache Kafka: %w", err)
	}
	report("ready", 100, dir)
	return packages, nil
}

// wholeApache reports whether dir has been checked once and still has its jars.
func wholeApache(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, markerName)); err != nil {
		return false
	}
	for _, name := range wantedJars() {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// wantedJars gives the names of the jars by their hashes.
func wantedJars() map[string]string {
	wanted := map[string]string{}
	for line := range strings.Lines(apacheJars) {
		if hash, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			wanted[hash] = name
		}
	}
	return wanted
}

// fetchApache lets Maven copy the jars into dir and checks them. Maven holds the
// lock with us: if we are killed, nobody begins anew before it has ended.
func fetchApache(ctx context.Context, dir string, lock *os.File, report func(string, int, string)) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return errors.New("installing Apache Kafka: it comes by Maven, and there is no mvn in PATH: install it (Debian, Ubuntu: apt install maven)")
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing an incomplete installation: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("installing Apache Kafka: %w", err)
	}
	pom := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pom, []byte(apachePOM), 0o644); err != nil {
		return fmt.Errorf("installing Apache Kafka: %w", err)
	}
	report("installing", 0, "Maven fetches the jars, about 45 MB")
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+dir)
	cmd.Env, cmd.ExtraFiles, cmd.WaitDelay = javaEnv(), []*os.File{lock}, killPatience
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("installing Apache Kafka into %s: mvn: %w: %s", dir, err, firstLine(string(out)))
	}
	return checkJars(dir)
}

// checkJars compares the jars of dir with the hashes that they must have: all of
// them, and no others.
func checkJars(dir string) error {
	have, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return err
	}
	wanted := wantedJars()
	for hash, name := range wanted {
		got, err := hashOf(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("installing Apache Kafka: %w", err)
		}
		if got != hash {
			return fmt.Errorf("installing Apache Kafka: %s is not the file that it should be", name)
		}
	}
	if len(have) != len(wanted) {
		return fmt.Errorf("installing Apache Kafka: Maven brought %d jars, and %d are known", len(have), len(wanted))
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

// findJava gives the path of a Java that is new enough, or says what to install.
func findJava(ctx context.Context) (string, error) {
	const way = "install it (Debian, Ubuntu: apt install openjdk-17-jre-headless)"
	java := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")
	if os.Getenv("JAVA_HOME") == "" {
		var err error
		if java, err = exec.LookPath("java"); err != nil {
			return "", fmt.Errorf("the broker of Apache Kafka needs Java %d or later, and there is no java in PATH: %s", leastJava, way)
		}
	}
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("the broker of Apache Kafka needs Java %d or later, and %s does not run: %w", leastJava, java, err)
	}
	if version := javaVersion(string(out)); version < leastJava {
		return "", fmt.Errorf("the broker of Apache Kafka needs Java %d or later, and %s is version %d: %s", leastJava, java, version, way)
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

// javaEnv is our environment without our settings, which hold secrets.
func javaEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "LIVEGRAPH_") {
			env = append(env, kv)
		}
	}
	return env
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
