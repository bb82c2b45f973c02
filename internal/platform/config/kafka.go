package config

import (
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Kafka says where the log is and how its topics are made.
type Kafka struct {
	Brokers            []string      `help:"Kafka brokers, host:port. Empty: embedded." env:"LIVEGRAPH_KAFKA_BROKERS"`
	TopicPrefix        string        `help:"Put before each topic's name." env:"LIVEGRAPH_KAFKA_TOPIC_PREFIX"`
	PointsPartitions   int32         `help:"Partitions of topic points when it is created." default:"8" env:"LIVEGRAPH_KAFKA_POINTS_PARTITIONS"`
	CommandsPartitions int32         `help:"Partitions of topics graph.commands, graph.events and audit when they are created. Never another number afterwards." default:"8" env:"LIVEGRAPH_KAFKA_COMMANDS_PARTITIONS"`
	Replication        int16         `help:"Replication factor of topics when they are created; -1: the broker's default." default:"-1" env:"LIVEGRAPH_KAFKA_REPLICATION"`
	RetentionBytes     int64         `help:"Bytes kept of each partition of a topic; the oldest go first." default:"268435456" env:"LIVEGRAPH_KAFKA_RETENTION_BYTES"`
	Retention          time.Duration `help:"How long records are kept in the topics, at most: older ones that the built-in consumers have read are removed every ten minutes. 0: for as long as there is room." default:"720h" env:"LIVEGRAPH_KAFKA_RETENTION"`
	SyncWrites         bool          `help:"Embedded Kafka only: fsync every record (slower; survives a power cut, not only a crash)." default:"false" env:"LIVEGRAPH_KAFKA_SYNC_WRITES"`
	Compression        string        `help:"Compression of records." enum:"none,lz4,zstd,snappy" default:"none" env:"LIVEGRAPH_KAFKA_COMPRESSION"`
	BufferedBytes      int           `help:"Most bytes of records waiting for Kafka's answer; beyond, ingest answers 503." default:"134217728" env:"LIVEGRAPH_KAFKA_BUFFERED_BYTES"`
	// SessionTimeout is how long a consumer group waits for a member that says nothing.
	SessionTimeout time.Duration `help:"How long a consumer may be silent before others get its partitions, from 6 s on: a consumer that was killed is replaced so late. Longer than the network or the machine may stand still." default:"10s" env:"LIVEGRAPH_KAFKA_SESSION_TIMEOUT"`

	KafkaSecurity `embed:""`
}

// Bounds of the session timeout: those that brokers have by default.
const (
	leastSession = 6 * time.Second
	mostSession  = 30 * time.Minute
)

// leastRetention is for how long at least records are kept: what is redriven or replayed
// has to be there.
const leastRetention = time.Hour

// KafkaSecurity says whom to believe to be a broker, and how to log in there.
type KafkaSecurity struct {
	TLS           bool      `name:"tls" help:"Speak TLS with the brokers." default:"false" env:"LIVEGRAPH_KAFKA_TLS" json:"tls"`
	Files         EngineTLS `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_KAFKA_TLS_" json:"files,omitzero"`
	SASLMechanism string    `name:"sasl-mechanism" help:"How to log in to the brokers: plain, scram-sha-256 or scram-sha-512. Empty: not at all." env:"LIVEGRAPH_KAFKA_SASL_MECHANISM" json:"mechanism,omitempty"`
	SASLUsername  string    `name:"sasl-username" help:"User to log in as." env:"LIVEGRAPH_KAFKA_SASL_USERNAME" json:"username,omitempty"`
	SASLPassword  Secret    `name:"sasl-password" help:"The user's password." env:"LIVEGRAPH_KAFKA_SASL_PASSWORD" json:"-"`
}

// Absolute is the same for a process in another directory.
func (k *KafkaSecurity) Absolute() KafkaSecurity {
	other := *k
	other.Files = k.Files.Absolute()
	return other
}

// Client reads the TLS files; nil where TLS is not spoken.
func (k *KafkaSecurity) Client() (*tlsconfig.Client, error) {
	if !k.TLS {
		return nil, nil
	}
	return k.Files.Client("kafka-tls")
}

// mechanisms are the ways to log in.
var mechanisms = []string{"plain", "scram-sha-256", "scram-sha-512"}

// Mechanism is the way to log in, in lower case.
func (k *KafkaSecurity) Mechanism() string { return strings.ToLower(k.SASLMechanism) }

// Warnings are what is allowed and should not stay so.
func (k *KafkaSecurity) Warnings() []string {
	if k.Mechanism() == "plain" && !k.TLS {
		return []string{"LIVEGRAPH_KAFKA_SASL_MECHANISM=plain without LIVEGRAPH_KAFKA_TLS sends the password " +
			"in clear text: set LIVEGRAPH_KAFKA_TLS, or use scram-sha-512"}
	}
	return nil
}

// validate checks what tags cannot say.
func (k *Kafka) validate(bad func(setting, format string, args ...any)) {
	if k.Retention < 0 || k.Retention > 0 && k.Retention < leastRetention {
		bad("kafka-retention", "must be 0 or at least %s", leastRetention)
	}
	k.Files.validate("kafka-tls", k.TLS, "--kafka-tls", bad)
	if k.SessionTimeout < leastSession || k.SessionTimeout > mostSession {
		bad("kafka-session-timeout", "must be between %s and %s, is %s", leastSession, mostSession, k.SessionTimeout)
	}
	switch {
	case k.SASLMechanism == "":
		for _, s := range []struct{ setting, value string }{
			{"kafka-sasl-username", k.SASLUsername}, {"kafka-sasl-password", k.SASLPassword.Reveal()},
		} {
			if s.value != "" {
				bad(s.setting, "needs --kafka-sasl-mechanism, one of %s", strings.Join(mechanisms, ", "))
			}
		}
	case !slices.Contains(mechanisms, k.Mechanism()):
		bad("kafka-sasl-mechanism", "%q is not one of %s", k.SASLMechanism, strings.Join(mechanisms, ", "))
	case k.SASLUsername == "" || k.SASLPassword == "":
		bad("kafka-sasl-mechanism", "needs --kafka-sasl-username and --kafka-sasl-password")
	}
	if (k.TLS || k.SASLMechanism != "") && len(k.Brokers) == 0 {
		bad(
			"kafka-brokers",
			"is needed with --kafka-tls and --kafka-sasl-mechanism: the embedded Kafka speaks no TLS and has a login of its own",
		)
	}
}
