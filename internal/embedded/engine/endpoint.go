package engine

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/livegraph/livegraph/internal/embedded/supervisor"
	"github.com/livegraph/livegraph/internal/platform/durable"
)

// Endpoint has the port and the passwords of an engine. It is stored in the engine's
// folder, with mode 0600, so that they stay the same after a restart.
type Endpoint struct {
	Port     int    `json:"port"`
	Password string `json:"password,omitempty"`
	// Application is the password of the application's role in Postgres, for which Password
	// is that of the superuser.
	Application string `json:"applicationPassword,omitempty"`
}

const (
	endpointFile = "endpoint.json"
	passwordLen  = 32
)

// ReadEndpoint reads the endpoint of an engine from its folder. The error is fs.ErrNotExist if the
// engine has never been started there.
func ReadEndpoint(dir string) (ep Endpoint, err error) {
	path := filepath.Join(dir, endpointFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return ep, fmt.Errorf("reading an engine's endpoint: %w", err)
	}
	if err := json.Unmarshal(raw, &ep); err != nil {
		return ep, fmt.Errorf("reading an engine's endpoint %s: %w", path, err)
	}
	return ep, nil
}

// loadEndpoint reads the endpoint of an engine from dir, and creates what is missing.
func loadEndpoint(dir string) (Endpoint, error) {
	ep, err := ReadEndpoint(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ep, err
	}
	stored := ep
	if ep.Password == "" {
		if ep.Password, err = NewPassword(); err != nil {
			return ep, err
		}
	}
	if ep.Port == 0 {
		if ep.Port, err = supervisor.RandomPort(); err != nil {
			return ep, err
		}
	}
	if ep == stored {
		return ep, nil
	}
	return ep, ep.Save(dir)
}

// Save writes the endpoint into the engine's folder.
func (ep Endpoint) Save(dir string) error {
	raw, err := json.Marshal(ep)
	if err != nil {
		return fmt.Errorf("writing an engine's endpoint: %w", err)
	}
	if err := durable.WriteFile(filepath.Join(dir, endpointFile), append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing an engine's endpoint: %w", err)
	}
	return nil
}

// Address returns host:port.
func (ep Endpoint) Address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(ep.Port))
}

// NewPassword creates a password of letters and digits, which need no quoting in URLs,
// configuration files or command lines.
func NewPassword() (string, error) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	text := make([]byte, passwordLen)
	for i := range text {
		k, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", fmt.Errorf("making a password: %w", err)
		}
		text[i] = alphabet[k.Int64()]
	}
	return string(text), nil
}
