package environment

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// HostRoles are the roles of which each host runs one process.
var HostRoles = []string{"api", "points", "commands", "embeddings", "audit", "rules"}

// Ports of the first of HostRoles on each host; those of the others follow.
const (
	hostPort        = 8080
	hostMetricsPort = 9100
)

// Host is another host, on which processes of an environment run.
type Host struct {
	Name    string
	Address string                    // IP address on which its processes listen
	Wrap    func(*exec.Cmd) *exec.Cmd // returns the command that runs a command on the host
}

// newRoles prepares the processes of the binary without starting them.
func (env *Environment) newRoles() (all []*Role, err error) {
	for _, h := range env.options.Hosts {
		for i, role := range HostRoles {
			all = append(all, env.newHostRole(h, i, role))
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	for _, r := range roles {
		for n := range r.count {
			role, err := env.newRole(r.role, r.role+"-"+strconv.Itoa(n+1))
			if err != nil {
				return nil, err
			}
			all = append(all, role)
		}
	}
	return all, nil
}

// newHostRole prepares the process of the role number i of a host, without starting it.
func (env *Environment) newHostRole(h Host, i int, role string) *Role {
	name := h.Name + "-" + role
	r := env.describeRole(role, name)
	r.Host = h.Name
	r.Listen = net.JoinHostPort(h.Address, strconv.Itoa(hostPort+i))
	r.Metrics = net.JoinHostPort(h.Address, strconv.Itoa(hostMetricsPort+i))
	r.Process = env.newProcess(r, name, h.Wrap)
	return r
}

// describeRole returns a role without its addresses and its process.
func (env *Environment) describeRole(role, name string) *Role {
	return &Role{Role: role, Binary: env.options.Binary, DataDir: filepath.Join(env.options.Dir, "processes", name)}
}

// newProcess returns the process of a role, whose commands wrap adapts to its host.
func (env *Environment) newProcess(r *Role, name string, wrap func(*exec.Cmd) *exec.Cmd) *Process {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return NewProcess(name, filepath.Join(env.logs(), name+".log"), func() *exec.Cmd {
		cmd := exec.Command(r.Binary, "serve", "--roles", r.Role, "--data-dir", r.DataDir,
			"--listen", r.Listen, "--metrics-listen", r.Metrics)
		cmd.Env = append(os.Environ(), env.environment()...)
		return wrap(cmd)
	}, func(ctx context.Context) error { return probeReady(ctx, client, "http://"+r.Listen+"/readyz") })
}

// OnHost returns the processes of a host.
func (env *Environment) OnHost(host string) (all []*Role) {
	for _, r := range env.Roles("") {
		if r.Host == host {
			all = append(all, r)
		}
	}
	return all
}
