package portrait

import "strings"

// wellKnown says what programs are that many machines run, in the words that a
// person may search by. The rest goes by its name alone.
var wellKnown = map[string]string{
	"apache2": "web server", "httpd": "web server", "nginx": "web server and reverse proxy", "caddy": "web server",
	"haproxy": "load balancer and proxy", "envoy": "service proxy", "traefik": "reverse proxy",
	"postgres": "PostgreSQL, a relational database server", "mysqld": "MySQL, a relational database server",
	"mariadbd": "MariaDB, a relational database server", "mongod": "MongoDB, a document database server",
	"clickhouse":      "ClickHouse, an analytical database server",
	"clickhouse-serv": "ClickHouse, an analytical database server",
	"redis-server":    "Redis, an in-memory key-value store",
	"valkey-server":   "Valkey, an in-memory key-value store that speaks Redis' protocol",
	"memcached":       "in-memory cache", "milvus": "Milvus, a vector database",
	"milvus-lite": "Milvus Lite, a vector database",
	"etcd":        "etcd, a distributed key-value store", "influxd": "InfluxDB, a time series database",
	"prometheus": "Prometheus, monitoring and a time series database", "grafana": "Grafana, dashboards",
	"telegraf":  "Telegraf, a metrics collector",
	"livegraph": "Livegraph, a graph and live-data service with search",
	"java":      "Java virtual machine", "node": "Node.js, a JavaScript runtime", "deno": "JavaScript runtime",
	"bun":    "JavaScript runtime",
	"python": "Python interpreter", "ruby": "Ruby interpreter", "perl": "Perl interpreter", "php": "PHP interpreter",
	"php-fpm": "PHP for web servers",
	"go":      "Go toolchain", "gopls": "Go language server", "compile": "Go compiler", "link": "linker",
	"gcc": "C compiler", "cc1": "C compiler",
	"rustc": "Rust compiler", "cargo": "Rust's package manager and builder", "make": "build tool",
	"bash": "command shell", "sh": "command shell", "dash": "command shell", "zsh": "command shell",
	"fish": "command shell",
	"tmux": "terminal multiplexer", "screen": "terminal multiplexer", "vim": "text editor", "nvim": "text editor",
	"emacs": "text editor", "code": "code editor",
	"ssh": "secure remote login client", "sshd": "secure remote login server", "ssh-agent": "keeper of login keys",
	"systemd": "system and service manager", "init": "first process of the system",
	"launchd":          "system and service manager",
	"systemd-journald": "system log", "journald": "system log", "rsyslogd": "system log",
	"systemd-udevd":    "device manager",
	"systemd-resolved": "name resolver", "systemd-logind": "login manager", "systemd-network": "network configuration",
	"systemd-timesyn": "clock synchronisation", "chronyd": "clock synchronisation", "ntpd": "clock synchronisation",
	"cron": "scheduler of recurring jobs", "crond": "scheduler of recurring jobs", "atd": "scheduler of jobs",
	"dbus-daemon": "message bus", "NetworkManager": "network configuration", "dhclient": "network address client",
	"wpa_supplicant": "wireless network client",
	"dockerd":        "Docker, a container engine", "containerd": "container runtime",
	"containerd-shim": "keeper of a container", "podman": "container engine", "runc": "container runtime",
	"kubelet": "Kubernetes node agent", "kube-proxy": "Kubernetes network proxy",
	"kube-apiserver": "Kubernetes control plane",
	"Xorg":           "graphical display server", "gnome-shell": "desktop", "plasmashell": "desktop",
	"pipewire": "audio and video server", "pulseaudio": "audio server",
	"firefox": "web browser", "chrome": "web browser", "chromium": "web browser", "safari": "web browser",
	"thunderbird": "mail client",
	"cupsd":       "print server", "smbd": "file server", "nfsd": "file server", "qemu-system-x86_64": "virtual machine",
	"git":      "version control",
	"rabbitmq": "message broker", "kafka": "Apache Kafka, a distributed log", "emqx": "MQTT message broker",
	"ollama": "language model server",
}

// whatItIs reports what a program is; "" if that is not known. Versions at the end
// of a name do not count: python3.11 is python.
func whatItIs(program string) string {
	if about, ok := wellKnown[program]; ok {
		return about
	}
	return wellKnown[strings.TrimRight(program, "0123456789.-*")]
}
