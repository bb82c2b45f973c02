// Package valkeygroup runs several servers of Valkey for tests: a primary with replicas behind Sentinels,
// and a Cluster. Unlike the engines of package supervisor, a killed server stays down until it is started
// again, so that another one takes over.
package valkeygroup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/livegraph/livegraph/test/ports"
)

const (
	user         = "default"
	pollInterval = 20 * time.Millisecond
	callTimeout  = 2 * time.Second
)

// Server is a server or a Sentinel.
type Server struct {
	Address string // host:port

	binary, dir, password string
	sentinel              bool
	release               []func() // of the ports
	cmd                   *exec.Cmd
	ended                 chan struct{} // closed when the process has ended
}

// newServer writes the configuration of a server into a new directory. The configuration returns its
// lines, without the port, the directory and the password.
func newServer(binary, dir, password string, configuration func(s *Server) ([]string, error)) (*Server, error) {
	s := &Server{binary: binary, dir: dir, password: password}
	var err error
	if s.Address, err = s.port(); err != nil {
		return nil, err
	}
	lines, err := configuration(s)
	if err != nil {
		s.releasePorts()
		return nil, err
	}
	_, port, err := net.SplitHostPort(s.Address)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		lines = append(lines, "port "+port, "bind 127.0.0.1", "dir "+dir, "requirepass "+password)
		err = os.WriteFile(s.config(), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
	}
	if err != nil {
		s.releasePorts()
		return nil, err
	}
	return s, nil
}

func (s *Server) config() string { return filepath.Join(s.dir, "valkey.conf") }

// port reserves a port and returns its address.
func (s *Server) port() (string, error) {
	address, release, err := ports.Free()
	if err == nil {
		s.release = append(s.release, release)
	}
	return address, err
}

func (s *Server) releasePorts() {
	for _, release := range s.release {
		release()
	}
}

// Start starts the process and waits until it responds.
func (s *Server) Start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.dir, "valkey.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	args := []string{s.config()}
	if s.sentinel {
		args = append(args, "--sentinel")
	}
	cmd := exec.Command(s.binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		// The kernel sends the death signal when the thread that forked ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = log.Close()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.cmd, s.ended = cmd, ended
	return s.await(ctx, "respond", func(c *redis.Client) (bool, error) { return true, c.Ping(ctx).Err() })
}

// Kill kills the process and waits until it has ended.
func (s *Server) Kill() error { return s.signal(syscall.SIGKILL, true) }

// Pause stops the process with SIGSTOP: it keeps its connections and does not respond.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP, false) }

// Resume continues a process that Pause stopped.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT, false) }

func (s *Server) signal(signal syscall.Signal, ends bool) error {
	if s.cmd == nil {
		return os.ErrProcessDone
	}
	err := s.cmd.Process.Signal(signal)
	if ends {
		<-s.ended
	}
	return err
}

// Client returns a client of this server, which the caller closes.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: s.Address, Password: s.password, MaxRetries: -1, DialTimeout: callTimeout, ReadTimeout: callTimeout,
	})
}

// Do sends a command and returns its error.
func (s *Server) Do(ctx context.Context, args ...any) error {
	c := s.Client()
	defer func() { _ = c.Close() }()
	if err := c.Do(ctx, args...).Err(); err != nil {
		return fmt.Errorf("%v: %w", args[0], err)
	}
	return nil
}

// URL returns the URL of this server alone.
func (s *Server) URL() string { return groupURL("redis", s.password, "/0", s) }

// await polls until is returns true. It returns an error that names the state if ctx ends before.
func (s *Server) await(ctx context.Context, state string, is func(c *redis.Client) (bool, error)) error {
	c := s.Client()
	defer func() { _ = c.Close() }()
	for {
		reached, err := is(c)
		if reached && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not %s: %w", s.Address, state, errors.Join(ctx.Err(), err))
		case <-s.ended:
			log, _ := os.ReadFile(filepath.Join(s.dir, "valkey.log"))
			return fmt.Errorf("%s has ended: %s", s.Address, log)
		case <-time.After(pollInterval):
		}
	}
}

// group are servers that are stopped together.
type group struct{ servers []*Server }

// add creates and starts a server.
func (g *group) add(ctx context.Context, s *Server, err error) error {
	if err != nil {
		return err
	}
	g.servers = append(g.servers, s)
	return s.Start(ctx)
}

// Stop kills all servers: tests do not read their data afterwards.
func (g *group) Stop(context.Context) error {
	for _, s := range g.servers {
		_ = s.Kill()
		s.releasePorts()
	}
	return nil
}

// groupURL returns the URL of servers.
func groupURL(scheme, password, tail string, servers ...*Server) string {
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, s.Address)
	}
	return scheme + "://" + url.UserPassword(user, password).String() + "@" + strings.Join(hosts, ",") + tail
}
