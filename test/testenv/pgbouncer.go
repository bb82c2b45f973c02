package testenv

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/livegraph/livegraph/test/ports"
)

// pooledSessions is the number of sessions that a PgBouncer of a test opens for a user. It is below the number of
// connections of a process, so that these share the sessions.
const pooledSessions = 6

// PgBouncer starts PgBouncer (Debian: pgbouncer) in transaction mode before the Postgres at a URL, and returns the URL
// that leads through it.
func PgBouncer(t testing.TB, address string) string {
	t.Helper()
	RequireEngines(t)
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			SkipMissing(t, "the tests of PgBouncer (pgbouncer)")
		}
	}
	target, err := url.Parse(address)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	listen, release, err := ports.Free()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	t.Cleanup(release)
	front := *target
	front.Host = listen
	startPgBouncer(t, path, pgBouncerConfig(target, listen))
	awaitPostgres(t, front.String())
	return front.String()
}

// pgBouncerConfig returns a configuration without any setting for Livegraph.
func pgBouncerConfig(target *url.URL, listen string) string {
	password, _ := target.User.Password()
	host, port, _ := net.SplitHostPort(listen)
	return fmt.Sprintf("[databases]\n* = host=%s port=%s user=%s password=%s\n[pgbouncer]\nlisten_addr = %s\n"+
		"listen_port = %s\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = %d\n"+
		"max_client_conn = 500\n",
		target.Hostname(), target.Port(), target.User.Username(), password, host, port, pooledSessions)
}

func startPgBouncer(t testing.TB, path, config string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatalf("testenv: %v", err)
	}
	args := []string{file}
	if os.Geteuid() == 0 { // it refuses to run as root
		args = append([]string{"--user", "nobody"}, args...)
	}
	var log bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("testenv: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("PgBouncer:\n%s", log.String())
		}
	})
}

// awaitPostgres waits until a server accepts connections.
func awaitPostgres(t testing.TB, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), DropTimeout)
	defer cancel()
	for {
		err := runPostgres(ctx, address, "SELECT 1")
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("testenv: PgBouncer does not answer: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
