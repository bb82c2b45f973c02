package config

import (
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Kafka holds the settings of the Kafka connection and of the topics.
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
	// SessionTimeout is the session timeout of the consumer groups.
	SessionTimeout time.Duration `help:"How long a consumer may be silent before others get its partitions, from 6 s on: a consumer that was killed is replaced so late. Longer than the network or the machine may stand still." default:"10s" env:"LIVEGRAPH_KAFKA_SESSION_TIMEOUT"`

	KafkaSecurity `embed:""`
}

// Limits of the session timeout: the defaults of the brokers.
const (
	minSessionTimeout = 6 * time.Second
	maxSessionTimeout = 30 * time.Minute
)

// minRetention is the minimum retention, because redrives and replays require the records.
const minRetention = time.Hour

// KafkaSecurity holds the settings for TLS and login with the brokers.
type KafkaSecurity struct {
	TLS           bool      `name:"tls" help:"Speak TLS with the brokers." default:"false" env:"LIVEGRAPH_KAFKA_TLS" json:"tls"`
	Files         EngineTLS `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_KAFKA_TLS_" json:"files,omitzero"`
	SASLMechanism string    `name:"sasl-mechanism" help:"How to log in to the brokers: plain, scram-sha-256 or scram-sha-512. Empty: not at all." env:"LIVEGRAPH_KAFKA_SASL_MECHANISM" json:"mechanism,omitempty"`
	SASLUsername  string    `name:"sasl-username" help:"User to log in as." env:"LIVEGRAPH_KAFKA_SASL_USERNAME" json:"username,omitempty"`
	SASLPassword  Secret    `name:"sasl-password" help:"The user's password." env:"LIVEGRAPH_KAFKA_SASL_PASSWORD" json:"-"`
}

// Absolute returns a copy with absolute paths, for a process in another directory.
func (k *KafkaSecurity) Absolute() KafkaSecurity {
	copied := *k
	copied.Files = k.Files.Absolute()
	return copied
}

// Client reads the TLS files. It returns nil without TLS.
func (k *KafkaSecurity) Client() (*tlsconfig.Client, error) {
	if !k.TLS {
		return nil, nil
	}
	return k.Files.Client("kafka-tls")
}

// mechanisms are the supported SASL mechanisms.
var mechanisms = []string{"plain", "scram-sha-256", "scram-sha-512"}

// Mechanism returns the SASL mechanism in lower case.
func (k *KafkaSecurity) Mechanism() string { return strings.ToLower(k.SASLMechanism) }

// Warnings returns warnings about settings that are allowed but unsafe.
func (k *KafkaSecurity) Warnings() []string {
	if k.Mechanism() == "plain" && !k.TLS {
		return []string{"LIVEGRAPH_KAFKA_SASL_MECHANISM=plain without LIVEGRAPH_KAFKA_TLS sends the password " +
			"in clear text: set LIVEGRAPH_KAFKA_TLS, or use scram-sha-512"}
	}
	return nil
}

// validate checks the rules that tags cannot express.
func (k *Kafka) validate(invalid func(setting, format string, args ...any)) {
	if k.Retention < 0 || k.Retention > 0 && k.Retention < minRetention {
		invalid("kafka-retention", "must be 0 or at least %s", minRetention)
	}
	k.Files.validate("kafka-tls", k.TLS, "--kafka-tls", invalid)
	if k.SessionTimeout < minSessionTimeout || k.SessionTimeout > maxSessionTimeout {
		invalid(
			"kafka-session-timeout", "must be between %s and %s, is %s", minSessionTimeout, maxSessionTimeout, k.SessionTimeout,
		)
	}
	switch {
	case k.SASLMechanism == "":
		for _, s := range []struct{ setting, value string }{
			{"kafka-sasl-username", k.SASLUsername}, {"kafka-sasl-password", k.SASLPassword.Reveal()},
		} {
			if s.value != "" {
				invalid(s.setting, "needs --kafka-sasl-mechanism, one of %s", strings.Join(mechanisms, ", "))
			}
		}
	case !slices.Contains(mechanisms, k.Mechanism()):
		invalid("kafka-sasl-mechanism", "%q is not one of %s", k.SASLMechanism, strings.Join(mechanisms, ", "))
	case k.SASLUsername == "" || k.SASLPassword == "":
		invalid("kafka-sasl-mechanism", "needs --kafka-sasl-username and --kafka-sasl-password")
	}
	if (k.TLS || k.SASLMechanism != "") && len(k.Brokers) == 0 {
		invalid(
			"kafka-brokers",
			"is needed with --kafka-tls and --kafka-sasl-mechanism: the embedded Kafka speaks no TLS and has a login of its own",
		)
	}
}
