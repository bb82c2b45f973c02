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
	"time"
)

// endpoint is where an engine listens and how one logs in. It is kept in the
// engine's folder, mode 0600, so that both stay the same from start to start.
type endpoint struct {
	Port     int    `json:"port"`
	Password string `json:"password,omitempty"`
}

// Ports are taken from below the range out of which the kernel hands ports to
// outgoing connections (32768 and up on Linux): a port that is free now cannot
// be somebody's outgoing connection when a crashed engine wants it back.
const (
	firstPort    = 15000
	lastPort     = 32000
	portAttempts = 200
	passwordLen  = 32
)

// portPatience is how long a start waits for its own port: a process that the
// last parent's death is just ending may still hold it.
const portPatience = 3 * time.Second

// loadEndpoint reads the engine's endpoint out of dir, or makes one. A port that
// somebody else has taken is replaced.
func loadEndpoint(dir string) (endpoint, error) {
	var ep endpoint
	path := filepath.Join(dir, "endpoint.json")
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return ep, fmt.Errorf("reading an engine's endpoint: %w", err)
	default:
		if err := json.Unmarshal(raw, &ep); err != nil {
			return ep, fmt.Errorf("reading an engine's endpoint %s: %w", path, err)
		}
	}
	kept := ep
	if ep.Password == "" {
		if ep.Password, err = randomText(passwordLen); err != nil {
			return ep, err
		}
	}
	if ep.Port == 0 || !portFreesUp(ep.Port, portPatience) {
		if ep.Port, err = freePort(); err != nil {
			return ep, err
		}
	}
	if ep == kept {
		return ep, nil
	}
	return ep, saveEndpoint(path, ep)
}

func saveEndpoint(path string, ep endpoint) error {
	raw, err := json.Marshal(ep)
	if err != nil {
		return fmt.Errorf("writing an engine's endpoint: %w", err)
	}
	if err := writeFileAtomically(path, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing an engine's endpoint: %w", err)
	}
	return nil
}

// address is host:port.
func (ep endpoint) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(ep.Port))
}

// freePort picks a port that nobody listens on.
func freePort() (int, error) {
	for range portAttempts {
		n, err := rand.Int(rand.Reader, big.NewInt(lastPort-firstPort))
		if err != nil {
			return 0, fmt.Errorf("choosing a port: %w", err)
		}
		port := firstPort + int(n.Int64())
		if portIsFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d on 127.0.0.1", firstPort, lastPort)
}

func portIsFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func portFreesUp(port int, patience time.Duration) bool {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if portIsFree(port) {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
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

// writeFileAtomically leaves either the old file or the whole new one, whatever
// happens between.
func writeFileAtomically(path string, data []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err := errors.Join(tmp.Chmod(mode), write(tmp, data), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func write(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return err
}
