package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/embedded"
	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/kafka/secure"
)

// brokerEnv is the environment variable that makes a process run the embedded Kafka.
const brokerEnv = "LIVEGRAPH_CHAOS_BROKER"

// brokerConfig is the value of brokerEnv, as JSON.
type brokerConfig struct {
	Dir        string `json:"dir"`
	Advertised string `json:"advertised"`
	Address    string `json:"address"` // file for the brokerInfo
}

// brokerInfo is the content of that file: the address of the broker and its credentials.
type brokerInfo struct {
	Address  string               `json:"address"`
	Login    config.KafkaSecurity `json:"login"`
	Password string               `json:"password"` // Login omits it in JSON
}

// readBrokerInfo reads the file.
func readBrokerInfo(path string) (at brokerInfo, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return at, err
	}
	if err := json.Unmarshal(text, &at); err != nil {
		return at, err
	}
	at.Login.SASLPassword = config.Secret(at.Password)
	return at, nil
}

// write writes the file.
func (at brokerInfo) write(path string) error {
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// RunBroker runs the embedded Kafka and then exits if this process was started for that; otherwise
// it returns at once. The embedded Kafka usually runs in the process that uses it; here it has a
// separate process, which can be killed and paused. main calls RunBroker before anything else.
func RunBroker() {
	text := os.Getenv(brokerEnv)
	if text == "" {
		return
	}
	if err := serveBroker(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveBroker(text string) error {
	var cfg brokerConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	broker, err := embedded.StartKafka(ctx, embedded.KafkaOptions{
		Options: engine.Options{Dir: cfg.Dir}, Advertised: cfg.Advertised,
	})
	if err != nil {
		return err
	}
	login := broker.Security()
	at := brokerInfo{Address: broker.Brokers()[0], Login: login, Password: login.SASLPassword.Reveal()}
	if err := at.write(cfg.Address); err != nil {
		return err
	}
	<-ctx.Done()
	return broker.Stop(context.WithoutCancel(ctx))
}

// newBroker returns the process of the embedded Kafka without starting it.
func newBroker(dir, logPath string, cfg brokerConfig) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	return NewProcess("kafka", logPath, func() *exec.Cmd {
		_ = os.Remove(cfg.Address)
		cmd := exec.Command(self)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), brokerEnv+"="+string(value))
		return cmd
	}, func(ctx context.Context) error {
		at, err := readBrokerInfo(cfg.Address)
		if err != nil {
			return err
		}
		return probeKafka(ctx, at)
	}), nil
}

// probeKafka pings a broker directly.
func probeKafka(ctx context.Context, at brokerInfo) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client, err := kgo.NewClient(append(kafkaLogin(at.Login), kgo.SeedBrokers(at.Address))...)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}

// kafkaLogin returns the client options for the credentials.
func kafkaLogin(login config.KafkaSecurity) []kgo.Opt {
	s, err := secure.New(nil, login.Mechanism(), login.SASLUsername, login.SASLPassword.Reveal())
	if err != nil {
		panic(err) // the mechanism is the embedded broker's
	}
	return append(s.Opts(nil, dialTimeout), kgo.DisableClientMetrics())
}

// dialTimeout bounds the time to connect to a broker.
const dialTimeout = 10 * time.Second
