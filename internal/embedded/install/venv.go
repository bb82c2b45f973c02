package install

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/internal/platform/durable"
)

const (
	markerName = "livegraph-complete.json"
	// outputTimeout bounds the wait for the output of a pip that was interrupted.
	outputTimeout = 5 * time.Second
)

// Packages is an installation of a PackageSet: a Python venv that is created once per machine
// and user and shared by all processes.
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

// PackageSet describes the content of a venv.
type PackageSet struct {
	Name         string   // prefix of the folder's name
	Requirements string   // for pip: all packages with their dependencies, each pinned by version and hash
	Files        []string // required files below site-packages; an installation without them is created again
}

// hash identifies the requirements, so that each version of them has its own venv.
func (set PackageSet) hash() string {
	sum := sha256.Sum256([]byte(set.Requirements))
	return hex.EncodeToString(sum[:6])
}

// Install returns the packages. If they are not installed, it creates a venv and installs them.
// Concurrent processes wait for the one that installs. It requires Python 3.11 or later; without
// it, the error describes what to install.
func (set PackageSet) Install(ctx context.Context, report Report) (*Packages, error) {
	dir, err := CacheDir(set.Name + "-" + set.hash())
	if err != nil {
		return nil, err
	}
	return set.ensure(ctx, dir, report)
}

// ensure returns the venv in dir. It creates the venv if it is missing or incomplete.
func (set PackageSet) ensure(ctx context.Context, dir string, report Report) (p *Packages, err error) {
	complete := func() (ok bool) {
		p, ok = openPackages(dir)
		return ok
	}
	err = Ensure(ctx, dir, report, complete, func(lock *os.File) error { return set.create(ctx, dir, lock, report) })
	if err != nil {
		return nil, err
	}
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

// create creates the venv in its final folder, because a venv cannot be moved. It first
// removes the files of an interrupted installation. The programs that write there inherit
// the lock: if this process is killed, no other one starts before they have ended.
func (set PackageSet) create(ctx context.Context, dir string, lock *os.File, report Report) error {
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
	venv.Stdout, venv.Stderr, venv.Env = log, log, supervisor.PythonEnv()
	venv.ExtraFiles = []*os.File{lock}
	if err := venv.Run(); err != nil {
		return failed(fmt.Errorf("python -m venv: %w", err))
	}
	file := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(file, []byte(set.Requirements), 0o644); err != nil {
		return failed(err)
	}
	pip := exec.CommandContext(ctx, filepath.Join(
		dir, "bin", "python",
	), "-m", "pip", "install", "--disable-pip-version-check",
		// --no-deps: the file includes the dependencies
		"--no-input", "--progress-bar", "off", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", file)
	lines := &pipProgress{log: log, report: report, packages: strings.Count(set.Requirements, "==")}
	pip.Stdout, pip.Stderr, pip.Env = lines, lines, supervisor.PythonEnv()
	pip.ExtraFiles, pip.WaitDelay = []*os.File{lock}, outputTimeout
	if err := pip.Run(); err != nil {
		return failed(fmt.Errorf("pip: %w: %s", err, lines.lastError()))
	}
	return set.writeMarker(dir)
}

// writeMarker writes the marker.
func (set PackageSet) writeMarker(dir string) error {
	site, err := sitePackages(dir)
	if err != nil {
		return err
	}
	interpreter, err := interpreterOf(dir)
	if err != nil {
		return err
	}
	m := marker{Interpreter: interpreter, Files: map[string]int64{}}
	for _, name := range set.Files {
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

// Site returns the path of site-packages, the folder of the packages' files.
func (p *Packages) Site() string { return p.site }

// Version identifies the set and the version of its requirements.
func (p *Packages) Version() string { return filepath.Base(p.dir) }

// pipProgress converts the output of pip to events and writes it to the log.
type pipProgress struct {
	log      *os.File
	report   Report
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
