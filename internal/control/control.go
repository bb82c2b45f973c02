// Package control is the note that a running server leaves in its data
// directory, so that the other subcommands find it: its process, its address
// and those of its engines. The file is readable by its owner alone, because
// the addresses hold passwords.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const fileName = "control.json"

// ErrNotRunning says that no server runs on a data directory.
var ErrNotRunning = errors.New("no server runs on this data directory")

// Server is a running server, as its file describes it.
type Server struct {
	PID           int       `json:"pid"`
	URL           string    `json:"url"` // the API's base address
	StartedAt     time.Time `json:"startedAt"`
	KafkaBrokers  []string  `json:"kafkaBrokers"`
	ClickHouseURL string    `json:"clickhouseUrl"`
	PostgresURL   string    `json:"postgresUrl"`
	RedisURL      string    `json:"redisUrl"`
	MilvusAddress string    `json:"milvusAddress"`
}

// Write leaves the note, whole or not at all.
func Write(dataDir string, s Server) error {
	payload, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dataDir, fileName)
	if err := os.WriteFile(path+".new", append(payload, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the control file: %w", err)
	}
	return os.Rename(path+".new", path)
}

// Remove takes the note away.
func Remove(dataDir string) error {
	err := os.Remove(filepath.Join(dataDir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Read finds the server that runs on dataDir. A note whose process is gone, as a
// kill leaves it, is ErrNotRunning.
func Read(dataDir string) (Server, error) {
	var s Server
	payload, err := os.ReadFile(filepath.Join(dataDir, fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, ErrNotRunning
	}
	if err != nil {
		return s, fmt.Errorf("reading the control file: %w", err)
	}
	if err := json.Unmarshal(payload, &s); err != nil {
		return s, fmt.Errorf("reading the control file: %w", err)
	}
	if err := syscall.Kill(s.PID, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return s, ErrNotRunning
	}
	return s, nil
}
