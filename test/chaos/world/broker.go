package world

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
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/kafka"
)

// brokerEnv holds what a process that is to be the embedded Kafka has to know.
const brokerEnv = "LIVEGRAPH_CHAOS_BROKER"

// brokerTask is the value of brokerEnv.
type brokerTask struct {
	Dir        string `json:"dir"`
	Advertised string `json:"advertised"`
	Address    string `json:"address"` // file to which it writes where it listens
}

// brokerAt is what that file holds: where the broker listens, and how one logs in there.
type brokerAt struct {
	Address  string               `json:"address"`
	Login    config.KafkaSecurity `json:"login"`
	Password string               `json:"password"` // which the login does not write
}

// readBroker reads the file.
func readBroker(path string) (at brokerAt, err error) {
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
func (at brokerAt) write(path string) error {
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// Broker is the embedded Kafka if this process was started to be it, and does not
// return then. The embedded Kafka lives in the process that uses it; here it has one of
// its own, which can be killed and paused. main calls Broker before anything else.
func Broker() {
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
	var task brokerTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	broker, err := embedded.StartKafka(ctx, embedded.KafkaOptions{
		EngineOptions: embedded.EngineOptions{Dir: task.Dir}, Advertised: task.Advertised,
	})
	if err != nil {
		return err
	}
	login := broker.Security()
	at := brokerAt{Address: broker.Brokers()[0], Login: login, Password: login.SASLPassword.Reveal()}
	if err := at.write(task.Address); err != nil {
		return err
	}
	<-ctx.Done()
	return broker.Stop(context.WithoutCancel(ctx))
}

// newBroker prepares the embedded Kafka as a process.
func newBroker(dir, logPath string, task brokerTask) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	return &Process{
		Name: "kafka", logPath: logPath,
		command: func() *exec.Cmd {
			_ = os.Remove(task.Address)
			cmd := exec.Command(self)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), brokerEnv+"="+string(value))
			return cmd
		},
		probe: func(ctx context.Context) error {
			at, err := readBroker(task.Address)
			if err != nil {
				return err
			}
			return probeKafka(ctx, at)
		},
	}, nil
}

// probeKafka asks a broker itself for a sign of life.
func probeKafka(ctx context.Context, at brokerAt) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client, err := kgo.NewClient(append(kafkaLogin(at.Login), kgo.SeedBrokers(at.Address))...)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}

// kafkaLogin are the options of a client that logs in so.
func kafkaLogin(login config.KafkaSecurity) []kgo.Opt {
	s, err := kafka.Secure(nil, login.Mechanism(), login.SASLUsername, login.SASLPassword.Reveal())
	if err != nil {
		panic(err) // the mechanism is the embedded broker's
	}
	return append(s.Opts(dialLimit), kgo.DisableClientMetrics())
}

// dialLimit bounds the time for a connection to a broker.
const dialLimit = 10 * time.Second
