package mqtt

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/livegraph/livegraph/internal/app/mqtt/mapping"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

const (
	maxBrokers          = 100
	maxMappings         = 1_000
	maxConfigBytes      = 4 << 20
	defaultInFlight     = 1_000
	maxInFlight         = 10_000
	defaultSession      = 24 * time.Hour
	defaultKeepAlive    = 30 * time.Second
	maxKeepAlive        = 18 * time.Hour // it is sent as 16 bits of seconds
	maxSession          = 0xffffffff * time.Second
	version5, version31 = "5", "3.1.1"
)

var (
	// schemes are the schemes of a broker's address.
	schemes      = []string{"mqtt", "mqtts", "ws", "wss"}
	defaultPorts = map[string]string{"mqtt": "1883", "mqtts": "8883"}
)

// Config is a configuration file. See docs/mqtt.md.
type Config struct {
	Brokers []*Broker `yaml:"brokers"`
}

// Broker is a connection to a broker, and what its messages become.
type Broker struct {
	URL           string            `yaml:"url"`
	Name          string            `yaml:"name"`     // in logs and metrics; "": the host
	Version       string            `yaml:"version"`  // of MQTT; "": 5
	ClientID      string            `yaml:"clientId"` // names the session, so that it is resumed
	SharedGroup   string            `yaml:"sharedGroup"`
	Username      string            `yaml:"username"`
	PasswordFile  string            `yaml:"passwordFile"`
	TLS           TLS               `yaml:"tls"`
	MaxInFlight   int               `yaml:"maxInFlight"`   // messages; 0: 1,000
	SessionExpiry string            `yaml:"sessionExpiry"` // "": 24h
	KeepAlive     string            `yaml:"keepAlive"`     // "": 30s
	Mappings      []*mapping.Config `yaml:"mappings"`

	address                  *url.URL
	sessionExpiry, keepAlive time.Duration
	mappings                 []*mapping.Mapping
	tls                      *tlsconfig.Client
}

// TLS are the files of a TLS connection (PEM). All may be "".
type TLS struct {
	CAFile   string `yaml:"caFile"`
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
}

// Load reads and checks a configuration file. Its errors name the file and the field.
func Load(path string) (*Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	c, err := Parse(io.LimitReader(file, maxConfigBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads and checks a configuration.
func Parse(r io.Reader) (*Config, error) {
	var c Config
	err := yaml.NewDecoder(r, yaml.Strict()).Decode(&c)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n := len(c.Brokers); n == 0 || n > maxBrokers {
		return nil, fmt.Errorf("brokers: must have 1 to %d entries", maxBrokers)
	}
	names := map[string]bool{}
	for i, b := range c.Brokers {
		if b == nil {
			return nil, fmt.Errorf("brokers[%d]: is empty", i)
		}
		if err := b.check(); err != nil {
			return nil, fmt.Errorf("brokers[%d].%w", i, err)
		}
		if names[b.Name] {
			return nil, fmt.Errorf("brokers[%d].name: %q is used twice", i, b.Name)
		}
		names[b.Name] = true
	}
	return &c, nil
}

// check checks a broker and sets its defaults.
func (b *Broker) check() (err error) {
	if b.address, err = url.Parse(b.URL); err != nil || b.address.Host == "" ||
		!slices.Contains(schemes, b.address.Scheme) || b.address.User != nil {
		return errors.New("url: must be mqtt://HOST:PORT, mqtts://, ws:// or wss://, without a user")
	}
	if port := defaultPorts[b.address.Scheme]; b.address.Port() == "" && port != "" {
		b.address.Host = net.JoinHostPort(b.address.Hostname(), port)
	}
	b.Name = cmp.Or(b.Name, b.address.Host)
	switch b.Version = cmp.Or(b.Version, version5); {
	case b.Version != version5 && b.Version != version31:
		return fmt.Errorf("version: must be %s or %s", version5, version31)
	case b.ClientID == "" || len(b.ClientID) > 256:
		return errors.New("clientId: is required, up to 256 bytes: it names the session that the broker keeps")
	case strings.ContainsAny(b.SharedGroup, "+#/"):
		return errors.New("sharedGroup: must not contain +, # or /")
	case b.PasswordFile != "" && b.Username == "":
		return errors.New("passwordFile: requires username")
	case b.MaxInFlight < 0 || b.MaxInFlight > maxInFlight:
		return fmt.Errorf("maxInFlight: must be 1 to %d", maxInFlight)
	}
	b.MaxInFlight = cmp.Or(b.MaxInFlight, defaultInFlight)
	if b.sessionExpiry, err = period(b.SessionExpiry, defaultSession, maxSession); err != nil {
		return fmt.Errorf("sessionExpiry: %w", err)
	}
	if b.keepAlive, err = period(b.KeepAlive, defaultKeepAlive, maxKeepAlive); err != nil {
		return fmt.Errorf("keepAlive: %w", err)
	}
	if err := b.loadTLS(); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	return b.compileMappings()
}

// period parses a duration of whole seconds.
func period(text string, otherwise, most time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > most || d%time.Second != 0 {
		return 0, fmt.Errorf("must be a duration of whole seconds, such as 30s or 24h, up to %s", most)
	}
	return d, nil
}

func (b *Broker) loadTLS() (err error) {
	encrypted := b.address.Scheme == "mqtts" || b.address.Scheme == "wss"
	switch {
	case b.TLS != (TLS{}) && !encrypted:
		return errors.New("requires a url with mqtts:// or wss://")
	case (b.TLS.CertFile == "") != (b.TLS.KeyFile == ""):
		return errors.New("certFile and keyFile go together")
	}
	if encrypted {
		b.tls, err = tlsconfig.NewClient(tlsconfig.Files{
			CA: b.TLS.CAFile, Cert: b.TLS.CertFile, Key: b.TLS.KeyFile, Setting: "tls",
		})
	}
	return err
}

func (b *Broker) compileMappings() error {
	if n := len(b.Mappings); n == 0 || n > maxMappings {
		return fmt.Errorf("mappings: must have 1 to %d entries", maxMappings)
	}
	for i, c := range b.Mappings {
		if c == nil {
			return fmt.Errorf("mappings[%d]: is empty", i)
		}
		m, err := mapping.New(c)
		if err != nil {
			return fmt.Errorf("mappings[%d].%w", i, err)
		}
		if b.SharedGroup != "" && c.Payload == mapping.Sparkplug {
			return fmt.Errorf("mappings[%d].payload: must not be sparkplug with a sharedGroup: "+
				"only one of the processes would receive a birth", i)
		}
		b.mappings = append(b.mappings, m)
	}
	return nil
}

// subscriptions returns the topic filters to subscribe to with their qualities of service.
func (b *Broker) subscriptions() map[string]byte {
	filters := map[string]byte{}
	for _, m := range b.mappings {
		filter := m.Filter()
		if b.SharedGroup != "" {
			filter = "$share/" + b.SharedGroup + "/" + filter
		}
		filters[filter] = max(filters[filter], byte(m.QoS()))
	}
	return filters
}

// password returns the content of the password's file without the line break at its end. It is read for each
// connection.
func (b *Broker) password() (string, error) {
	if b.PasswordFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(b.PasswordFile)
	return strings.TrimRight(string(text), "\r\n"), err
}
