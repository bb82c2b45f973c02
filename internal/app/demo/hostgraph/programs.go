package hostgraph

import (
	"slices"
	"strings"
)

// about returns a description of a well-known program with words that users may search for, or "". It ignores a version
// at the end of the name: python3.11 is python.
func about(program string) string {
	program = strings.TrimRight(program, "0123456789.-*")
	for _, line := range wellKnown {
		if names, text, _ := strings.Cut(line, ": "); slices.Contains(strings.Fields(names), program) {
			return text
		}
	}
	return ""
}

var wellKnown = []string{
	"apache httpd caddy nginx: web server",
	"haproxy envoy traefik: load balancer and reverse proxy",
	"postgres: PostgreSQL, a relational database server",
	"mysqld mariadbd: relational database server",
	"clickhouse clickhouse-serv: ClickHouse, an analytical database server",
	"redis-server valkey-server: in-memory key-value store that speaks Redis' protocol",
	"milvus milvus-lite: Milvus, a vector database",
	"etcd: distributed key-value store",
	"prometheus influxd: time series database",
	"livegraph: Livegraph, a graph and live-data service with search",
	"java: Java virtual machine", "node deno bun: JavaScript runtime",
	"python: Python interpreter", "ruby perl php: interpreter",
	"go gopls compile link: Go toolchain", "gcc cc rustc cargo make: compiler or build tool",
	"bash sh dash zsh fish: command shell", "tmux screen: terminal multiplexer", "vim nvim emacs code: text editor",
	"ssh sshd: secure remote login",
	"systemd init launchd: system and service manager", "cron crond: scheduler of recurring jobs",
	"dockerd containerd containerd-shim podman runc: container engine", "kubelet: Kubernetes node agent",
	"firefox chrome chromium safari: web browser", "git: version control", "kafka: Apache Kafka, a distributed log",
}
