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
)

// brokerEnv holds what a process that is to be the embedded Kafka has to know.
const brokerEnv = "LIVEGRAPH_CHAOS_BROKER"

// brokerTask is the value of brokerEnv.
type brokerTask struct {
	Dir        string `json:"dir"`
	Advertised string `json:"advertised"`
	Address    string `json:"address"` // file to which it writes where it listens
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
	kafka, err := embedded.StartKafka(ctx, embedded.KafkaOptions{
		EngineOptions: embedded.EngineOptions{Dir: task.Dir}, Advertised: task.Advertised,
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(task.Address, []byte(kafka.Brokers()[0]), 0o600); err != nil {
		return err
	}
	<-ctx.Done()
	return kafka.Stop(context.WithoutCancel(ctx))
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
			address, err := os.ReadFile(task.Address)
			if err != nil {
				return err
			}
			return probeKafka(ctx, string(address))
		},
	}, nil
}

// probeKafka asks a broker itself for a sign of life.
func probeKafka(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}
