package embedded

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

	"github.com/livegraph/livegraph/internal/platform/durable"
)

// endpoint is where an engine listens and how one logs in. It is kept in the
// engine's folder, mode 0600, so that both stay the same from start to start.
type endpoint struct {
	Port     int    `json:"port"`
	Password string `json:"password,omitempty"`
	// Application is the password of the role that Postgres has for the application;
	// Password is its superuser's then.
	Application string `json:"applicationPassword,omitempty"`
}

const (
	endpointFile = "endpoint.json"
	passwordLen  = 32
)

// readEndpoint reads the engine's endpoint out of dir.
func readEndpoint(dir string) (ep endpoint, err error) {
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

// loadEndpoint reads the engine's endpoint out of dir, or makes one.
func loadEndpoint(dir string) (endpoint, error) {
	ep, err := readEndpoint(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ep, err
	}
	kept := ep
	if ep.Password == "" {
		if ep.Password, err = randomText(passwordLen); err != nil {
			return ep, err
		}
	}
	if ep.Port == 0 {
		if ep.Port, err = somePort(); err != nil {
			return ep, err
		}
	}
	if ep == kept {
		return ep, nil
	}
	return ep, ep.save(dir)
}

func (ep endpoint) save(dir string) error {
	raw, err := json.Marshal(ep)
	if err != nil {
		return fmt.Errorf("writing an engine's endpoint: %w", err)
	}
	if err := durable.WriteFile(filepath.Join(dir, endpointFile), append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing an engine's endpoint: %w", err)
	}
	return nil
}

// address is host:port.
func (ep endpoint) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(ep.Port))
}

// randomText makes a password: letters and digits, so that it needs no quoting
// in URLs, configuration files or command lines.
func randomText(n int) (string, error) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	text := make([]byte, n)
	for i := range text {
		k, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", fmt.Errorf("making a password: %w", err)
		}
		text[i] = alphabet[k.Int64()]
	}
	return string(text), nil
}
