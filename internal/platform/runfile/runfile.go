// Package runfile is the note that a running server leaves in its data
// directory, so that the other subcommands find it: its process, its address
// and those of its engines. The file is readable by its owner alone, because
// the addresses hold passwords.
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

// ErrNotRunning says that no server runs on a data directory.
var ErrNotRunning = errors.New("no server runs on this data directory")

// Server is a running server, as its file describes it.
type Server struct {
	PID           int       `json:"pid"`
	URL           string    `json:"url"` // the API's base address
	StartedAt     time.Time `json:"startedAt"`
	MetricsURL    string    `json:"metricsUrl"` // of the Prometheus metrics; empty: they are off
	KafkaBrokers  []string  `json:"kafkaBrokers"`
	KafkaPassword string    `json:"kafkaPassword,omitempty"`
	ClickHouseURL string    `json:"clickhouseUrl"`
	PostgresURL   string    `json:"postgresUrl"`
	RedisURL      string    `json:"redisUrl"`
	MilvusAddress string    `json:"milvusAddress"`
	MilvusToken   string    `json:"milvusToken,omitempty"`

	KafkaSecurity config.KafkaSecurity `json:"kafkaSecurity,omitzero"` // without its password
	ClickHouseTLS config.EngineTLS     `json:"clickhouseTls,omitzero"`
	RedisTLS      config.EngineTLS     `json:"redisTls,omitzero"`
	MilvusTLS     config.EngineTLS     `json:"milvusTls,omitzero"`

	Embedder Embedder `json:"embedder,omitzero"`

	Capabilities config.Capabilities `json:"capabilities,omitzero"`

	Listen      string `json:"listen"`                // host:port at which this machine reaches the API
	Certificate string `json:"certificate,omitempty"` // file of the one that it shows; empty: it speaks plain HTTP
	CACert      string `json:"caCert,omitempty"`      // file for curl's --cacert; empty: not needed

	SharesAddresses bool `json:"sharesAddresses,omitempty"` // all callers may seem to have one address
}

// KafkaLogin is how one logs in to Kafka, the password included.
func (s *Server) KafkaLogin() config.KafkaSecurity {
	login := s.KafkaSecurity
	login.SASLPassword = config.Secret(s.KafkaPassword)
	return login
}

// Embedder is what turns texts into vectors for a server, if something does.
type Embedder struct {
	At                    string           `json:"at"` // static, or a URL without its key
	Key                   string           `json:"key,omitempty"`
	Model                 string           `json:"model,omitempty"`
	Dimensions            int              `json:"dimensions,omitempty"`
	AllowPrivateAddresses bool             `json:"allowPrivateAddresses,omitempty"`
	TLS                   config.EngineTLS `json:"tls,omitzero"`
}

// Note is what a running server has left. It is locked until it is removed or
// its process ends: the kernel lets go of it whatever ends the process. So the
// note of a killed server is told from that of a running one even where its
// process id lives on, as a zombie or, in a container, as another process.
type Note struct{ file *os.File }

// Write leaves the note, whole or not at all.
func Write(dataDir string, s Server) (*Note, error) {
	payload, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dataDir, fileName)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing the control file: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = file.Write(append(payload, '\n'))
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the control file: %w", err), file.Close())
	}
	return &Note{file}, nil
}

// Remove takes the note away, if another server has not yet replaced it.
func (n *Note) Remove(dataDir string) error {
	path := filepath.Join(dataDir, fileName)
	mine, err := n.file.Stat()
	if err == nil {
		if now, statErr := os.Stat(path); statErr == nil && os.SameFile(mine, now) {
			err = os.Remove(path)
		}
	}
	return errors.Join(err, n.file.Close())
}

// Read finds the server that runs on dataDir. A note whose process is gone, as a
// kill leaves it, is ErrNotRunning.
func Read(dataDir string) (Server, error) {
	var s Server
	file, err := os.Open(filepath.Join(dataDir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, ErrNotRunning
	}
	if err != nil {
		return s, fmt.Errorf("reading the control file: %w", err)
	}
	defer func() { _ = file.Close() }()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		return s, ErrNotRunning // nobody holds it: its server is gone
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return s, fmt.Errorf("reading the control file: %w", err)
	}
	if err := json.NewDecoder(file).Decode(&s); err != nil {
		return s, fmt.Errorf("reading the control file: %w", err)
	}
	return s, nil
}
