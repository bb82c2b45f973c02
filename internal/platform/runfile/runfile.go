// Package runfile reads and writes the run file, which a running server keeps in
// its data directory so that the other subcommands find it. The file has the
// process id, the address of the server and the addresses of its engines. Only
// its owner can read it, because the addresses contain passwords.
package runfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/livegraph/livegraph/internal/platform/config"
)

const fileName = "control.json"

// ErrNotRunning reports that no server runs on a data directory.
var ErrNotRunning = errors.New("no server runs on this data directory")

// Server is the content of the run file: a running server.
type Server struct {
	PID           int       `json:"pid"`
	URL           string    `json:"url"` // base URL of the API
	StartedAt     time.Time `json:"startedAt"`
	MetricsURL    string    `json:"metricsUrl"` // URL of the Prometheus metrics; empty: disabled
	KafkaBrokers  []string  `json:"kafkaBrokers"`
	KafkaPassword string    `json:"kafkaPassword,omitempty"`
	ClickHouseURL string    `json:"clickhouseUrl"`
	// ClickHouseCluster is the cluster of the tables, empty if they are on one server.
	ClickHouseCluster string `json:"clickhouseCluster,omitempty"`
	PostgresURL       string `json:"postgresUrl"`
	RedisURL          string `json:"redisUrl"`
	MilvusAddress     string `json:"milvusAddress"`
	MilvusToken       string `json:"milvusToken,omitempty"`

	PostgresDirectURL  string `json:"postgresDirectUrl,omitempty"`
	PostgresReplicaURL string `json:"postgresReplicaUrl,omitempty"`

	RedisSentinelUsername string `json:"redisSentinelUsername,omitempty"`
	RedisSentinelPassword string `json:"redisSentinelPassword,omitempty"`

	KafkaSecurity config.KafkaSecurity `json:"kafkaSecurity,omitzero"` // without its password
	ClickHouseTLS config.EngineTLS     `json:"clickhouseTls,omitzero"`
	RedisTLS      config.EngineTLS     `json:"redisTls,omitzero"`
	MilvusTLS     config.EngineTLS     `json:"milvusTls,omitzero"`

	Embedder Embedder `json:"embedder,omitzero"`
	Chat     Chat     `json:"chat,omitzero"`
	Rerank   Rerank   `json:"rerank,omitzero"`

	Capabilities config.Capabilities `json:"capabilities,omitzero"`

	Listen      string `json:"listen"`                // host:port of the API, as reached from this machine
	Certificate string `json:"certificate,omitempty"` // file of the server certificate; empty: plain HTTP

	SharesAddresses bool `json:"sharesAddresses,omitempty"` // all clients may appear to have the same address
}

// KafkaLogin returns the Kafka security settings with the password.
func (s *Server) KafkaLogin() config.KafkaSecurity {
	login := s.KafkaSecurity
	login.SASLPassword = config.Secret(s.KafkaPassword)
	return login
}

// RedisSentinel returns the login to the Sentinels of Redis.
func (s *Server) RedisSentinel() config.RedisSentinel {
	return config.RedisSentinel{Username: s.RedisSentinelUsername, Password: config.Secret(s.RedisSentinelPassword)}
}

// Embedder is the embedder of a server, if it has one.
type Embedder struct {
	Address               string           `json:"at"` // static, or a URL without its key
	Key                   string           `json:"key,omitempty"`
	Model                 string           `json:"model,omitempty"`
	Dimensions            int              `json:"dimensions,omitempty"`
	QueryPrefix           string           `json:"queryPrefix,omitempty"`
	PassagePrefix         string           `json:"passagePrefix,omitempty"`
	AllowPrivateAddresses bool             `json:"allowPrivateAddresses,omitempty"`
	TLS                   config.EngineTLS `json:"tls,omitzero"`
}

// Chat is the chat model of a server, if it has one.
type Chat struct {
	URL                   string           `json:"url"` // without its key
	Key                   string           `json:"key,omitempty"`
	Model                 string           `json:"model"`
	AllowPrivateAddresses bool             `json:"allowPrivateAddresses,omitempty"`
	TLS                   config.EngineTLS `json:"tls,omitzero"`
}

// Rerank is the reranker of a server, if it has one.
type Rerank struct {
	URL                   string           `json:"url"` // without its key
	Key                   string           `json:"key,omitempty"`
	Model                 string           `json:"model"`
	AllowPrivateAddresses bool             `json:"allowPrivateAddresses,omitempty"`
	TLS                   config.EngineTLS `json:"tls,omitzero"`
}

// File is the run file of a running server. It is locked until it is removed or
// the process ends: the kernel releases the lock however the process ends. The
// lock distinguishes the file of a killed server from that of a running one, even
// if the process id still exists, as a zombie or, in a container, as another
// process.
type File struct{ file *os.File }

// Write writes and locks the run file. The write is atomic.
func Write(dataDir string, s Server) (*File, error) {
	payload, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dataDir, fileName)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing the run file: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = file.Write(append(payload, '\n'))
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the run file: %w", err), file.Close())
	}
	return &File{file}, nil
}

// Remove removes the run file unless another server has replaced it.
func (n *File) Remove(dataDir string) error {
	path := filepath.Join(dataDir, fileName)
	own, err := n.file.Stat()
	if err == nil {
		if current, statErr := os.Stat(path); statErr == nil && os.SameFile(own, current) {
			err = os.Remove(path)
		}
	}
	return errors.Join(err, n.file.Close())
}

// Read returns the server that runs on dataDir. It returns ErrNotRunning if there is no
// run file, or if its process has ended, such as after a kill.
func Read(dataDir string) (Server, error) {
	var s Server
	file, err := os.Open(filepath.Join(dataDir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, ErrNotRunning
	}
	if err != nil {
		return s, fmt.Errorf("reading the run file: %w", err)
	}
	defer func() { _ = file.Close() }()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return s, ErrNotRunning // it is not locked: its server has ended
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return s, fmt.Errorf("reading the run file: %w", err)
	}
	if err := json.NewDecoder(file).Decode(&s); err != nil {
		return s, fmt.Errorf("reading the run file: %w", err)
	}
	return s, nil
}
