package embedded

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/internal/platform/durable"
)

// Every package is pinned by version and hash. The packages of the embedder are in a
// separate file, because its image is built from the same file, and because they are not
// downloaded if another embedder is used.
var (
	//go:embed requirements.txt
	requirements string
	//go:embed requirements-embedder.txt
	embedderRequirements string
)

const (
	enginesDirVariable = "LIVEGRAPH_ENGINES_DIR"
	markerName         = "livegraph-complete.json"
	installLockPoll    = 200 * time.Millisecond

	packagesName = "packages" // used as the name of the engine in events
)

// Packages is an installation of packages: a Python venv that is created once per machine
// and user and shared by all processes. The stores have one venv, the embedder another.
type Packages struct {
	dir  string // the venv
	site string // its site-packages
}

// marker records that an installation is complete, with data to verify that it still is:
// an installation that is damaged, or whose interpreter was removed or replaced by another
// version, is detected and created again.
type marker struct {
	Interpreter string           `json:"interpreter"` // resolved path of bin/python
	Files       map[string]int64 `json:"files"`       // size by path below the venv
}

// installation describes the content of a venv.
type installation struct {
	name         string   // prefix of the folder's name
	requirements string   // for pip, every package pinned by hash
	files        []string // required files below site-packages
}

// enginePackages returns the packages of the stores.
func enginePackages() installation {
	return installation{"engines", requirements, []string{
		chdbLibrary, postgresBinary, valkeyBinary, milvusModule, pymilvusModule,
	}}
}

// embedderPackages returns the packages of the embedder.
func embedderPackages() installation {
	return installation{"embedder", embedderRequirements, []string{embedderWeights, onnxModule, tokenizersModule}}
}

// hash identifies the requirements file, so that each version of it has its own venv.
func (in installation) hash() string {
	sum := sha256.Sum256([]byte(in.requirements))
	return hex.EncodeToString(sum[:6])
}

// dir returns the folder of the installation.
func (in installation) dir() (string, error) { return cacheDir(in.name + "-" + in.hash()) }

// cacheDir returns the folder of an installation. It is always a subfolder of the cache,
// never a folder that a user named, because an incomplete installation is removed.
func cacheDir(name string) (string, error) {
	base := os.Getenv(enginesDirVariable)
	if base == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no folder for the engines' packages: %w; set %s", err, enginesDirVariable)
		}
		base = filepath.Join(cache, "livegraph")
	}
	return filepath.Abs(filepath.Join(base, name))
}

// Install returns the packages of the stores. If they are not installed, it creates a
// venv and installs them, which downloads about 300 MB and takes half a minute or more.
// Concurrent processes wait for the one that installs.
func Install(ctx context.Context, progress func(Event)) (*Packages, error) {
	return enginePackages().install(ctx, reporter(packagesName, progress))
}

// InstallEmbedder returns the packages of the embedder: about 60 MB to download, 200 MB on disk.
func InstallEmbedder(ctx context.Context, progress func(Event)) (*Packages, error) {
	return embedderPackages().install(ctx, reporter(embedderName, progress))
}

func (in installation) install(ctx context.Context, report func(string, int, string)) (*Packages, error) {
	dir, err := in.dir()
	if err != nil {
		return nil, err
	}
	return in.ensure(ctx, dir, report)
}

// ensure returns the venv in dir. It creates the venv if it is missing or incomplete.
func (in installation) ensure(ctx context.Context, dir string, report func(string, int, string)) (*Packages, error) {
	if p, ok := openPackages(dir); ok {
		return p, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("making a folder for the engines' packages: %w; set %s to another", err, enginesDirVariable)
	}
	lock, err := lockInstallation(ctx, dir+".lock", report)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if p, ok := openPackages(dir); ok { // another process created it meanwhile
		return p, nil
	}
	if err := in.make(ctx, dir, lock, report); err != nil {
		report("failed", -1, err.Error())
		return nil, err
	}
	p, ok := openPackages(dir)
	if !ok {
		return nil, fmt.Errorf("the engines' packages were installed into %s but are not whole", dir)
	}
	report("ready", 100, dir)
	return p, nil
}

// openPackages returns the installation in dir. It reports false if it is incomplete.
func openPackages(dir string) (*Packages, bool) {
	raw, err := os.ReadFile(filepath.Join(dir, markerName))
	if err != nil {
		return nil, false
	}
	var m marker
	if json.Unmarshal(raw, &m) != nil || len(m.Files) == 0 {
		return nil, false
	}
	if interpreter, err := interpreterOf(dir); err != nil || interpreter != m.Interpreter {
		return nil, false
	}
	for path, size := range m.Files {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Size() != size {
			return nil, false
		}
	}
	site, err := sitePackages(dir)
	if err != nil {
		return nil, false
	}
	return &Packages{dir: dir, site: site}, true
}

func interpreterOf(dir string) (string, error) {
	return filepath.EvalSymlinks(filepath.Join(dir, "bin", "python"))
}

func sitePackages(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "lib", "python3.*", "site-packages"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%s is no venv", dir)
	}
	return found[0], nil
}

// lockInstallation locks the lock file next to the venv, and waits for it if necessary.
func lockInstallation(ctx context.Context, path string, report func(string, int, string)) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the engines' packages: %w; set %s to another folder", err, enginesDirVariable)
	}
	for waited := false; ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("locking the engines' packages: %w", err), file.Close())
		}
		if !waited {
			report("waiting", -1, "another process installs the engines")
			waited = true
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(installLockPoll):
		}
	}
}

// make creates the venv in its final folder, because a venv cannot be moved. It first
// removes the files of an interrupted installation. The programs that write there inherit
// the lock: if this process is killed, no other one starts before they have ended.
func (in installation) make(ctx context.Context, dir string, lock *os.File, report func(string, int, string)) error {
	python, err := findPython(ctx)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing an incomplete installation: %w", err)
	}
	report("installing", 0, "making a Python environment with "+python)
	logPath := dir + ".log"
	log, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("installing the engines' packages: %w", err)
	}
	defer log.Close()
	failed := func(err error) error {
		return fmt.Errorf("installing the engines' packages into %s: %w; the output is in %s", dir, err, logPath)
	}
	venv := exec.CommandContext(ctx, python, "-m", "venv", dir)
	venv.Stdout, venv.Stderr, venv.Env = log, log, pythonEnv()
	venv.ExtraFiles = []*os.File{lock}
	if err := venv.Run(); err != nil {
		return failed(fmt.Errorf("python -m venv: %w", err))
	}
	file := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(file, []byte(in.requirements), 0o644); err != nil {
		return failed(err)
	}
	pip := exec.CommandContext(ctx, filepath.Join(
		dir, "bin", "python",
	), "-m", "pip", "install", "--disable-pip-version-check",
		// --no-deps: the file includes the dependencies
		"--no-input", "--progress-bar", "off", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", file)
	lines := &pipProgress{log: log, report: report, packages: strings.Count(in.requirements, "==")}
	pip.Stdout, pip.Stderr, pip.Env = lines, lines, pythonEnv()
	pip.ExtraFiles, pip.WaitDelay = []*os.File{lock}, killTimeout
	if err := pip.Run(); err != nil {
		return failed(fmt.Errorf("pip: %w: %s", err, lines.lastError()))
	}
	return in.writeMarker(dir)
}

// writeMarker writes the marker.
func (in installation) writeMarker(dir string) error {
	site, err := sitePackages(dir)
	if err != nil {
		return err
	}
	interpreter, err := interpreterOf(dir)
	if err != nil {
		return err
	}
	m := marker{Interpreter: interpreter, Files: map[string]int64{}}
	for _, name := range in.files {
		path := filepath.Join(site, name)
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("the engines' packages lack a file: %w", err)
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		m.Files[relative] = info.Size()
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, markerName), raw, 0o644)
}

// Python returns the path of the interpreter of the venv.
func (p *Packages) Python() string { return filepath.Join(p.dir, "bin", "python") }

// pipProgress converts the output of pip to events and writes it to the log.
type pipProgress struct {
	log      *os.File
	report   func(string, int, string)
	packages int

	mu        sync.Mutex
	partial   []byte
	collected int
	failure   string
}

func (p *pipProgress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.log.Write(b)
	p.partial = append(p.partial, b...)
	for {
		n, line, err := bufio.ScanLines(p.partial, false)
		if n == 0 || err != nil {
			return len(b), nil
		}
		p.partial = p.partial[n:]
		p.line(strings.TrimSpace(string(line)))
	}
}

// line reports the progress for a line of output. Collecting counts as 90 percent of the
// work, because it downloads.
func (p *pipProgress) line(line string) {
	percent := min(90, 90*p.collected/max(1, p.packages))
	switch {
	case strings.HasPrefix(line, "Collecting "):
		p.collected++
		p.report("installing", percent, line)
	case strings.HasPrefix(line, "Downloading "):
		p.report("installing", percent, line)
	case strings.HasPrefix(line, "Installing collected packages"):
		p.report("installing", 90, "unpacking")
	case strings.HasPrefix(line, "ERROR:"):
		p.failure = line
	}
}

func (p *pipProgress) lastError() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}
