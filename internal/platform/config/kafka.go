package config

import (
	"slices"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Kafka holds the settings of the Kafka connection and of the topics.
type Kafka struct {
	Brokers            []string      `help:"Addresses of the Kafka brokers, host:port. Empty: embedded." env:"LIVEGRAPH_KAFKA_BROKERS"`
	TopicPrefix        string        `help:"Prefix of the name of each topic." env:"LIVEGRAPH_KAFKA_TOPIC_PREFIX"`
	PointsPartitions   int32         `help:"Number of partitions with which the topic points is created." default:"8" env:"LIVEGRAPH_KAFKA_POINTS_PARTITIONS"`
	CommandsPartitions int32         `help:"Number of partitions with which the topics graph.commands, graph.events and audit are created. It must not change afterwards." default:"8" env:"LIVEGRAPH_KAFKA_COMMANDS_PARTITIONS"`
	Replication        int16         `help:"Replication factor with which topics are created. -1: the brokers' default." default:"-1" env:"LIVEGRAPH_KAFKA_REPLICATION"`
	MinInsyncReplicas  int16         `help:"Setting min.insync.replicas with which topics are created: the number of replicas that must have a record before it is acknowledged. 0: 2 if topics have at least three replicas, otherwise the brokers' default. -1: the brokers' default." default:"0" env:"LIVEGRAPH_KAFKA_MIN_INSYNC_REPLICAS"`
	RetentionBytes     int64         `help:"Maximum size of each partition of a topic in bytes. The oldest records are removed first." default:"268435456" env:"LIVEGRAPH_KAFKA_RETENTION_BYTES"`
	Retention          time.Duration `help:"Maximum retention of records in the topics. Older records that the built-in consumers have read are removed every ten minutes. 0: no time limit; only the maximum size applies." default:"720h" env:"LIVEGRAPH_KAFKA_RETENTION"`
	SyncWrites         bool          `help:"Embedded Kafka only: fsync every record. This is slower, but records survive a power failure and not only a crash." default:"false" env:"LIVEGRAPH_KAFKA_SYNC_WRITES"`
	Compression        string        `help:"Compression of records." enum:"none,lz4,zstd,snappy" default:"none" env:"LIVEGRAPH_KAFKA_COMPRESSION"`
	BufferedBytes      int           `help:"Maximum total size, in bytes, of the records that wait for Kafka's acknowledgement. Above it, ingest requests are answered 503." default:"134217728" env:"LIVEGRAPH_KAFKA_BUFFERED_BYTES"`
	// SessionTimeout is the session timeout of the consumer groups.
	SessionTimeout time.Duration `help:"Session timeout of the consumers, at least 6 s: the time without a heartbeat after which the partitions of a consumer, such as a killed one, are assigned to others. It must be longer than the longest pause of the network or the machine." default:"10s" env:"LIVEGRAPH_KAFKA_SESSION_TIMEOUT"`

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
	TLS           bool      `name:"tls" help:"Use TLS for connections to the brokers." default:"false" env:"LIVEGRAPH_KAFKA_TLS" json:"tls"`
	Files         EngineTLS `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_KAFKA_TLS_" json:"files,omitzero"`
	SASLMechanism string    `name:"sasl-mechanism" help:"SASL mechanism of the login to the brokers: plain, scram-sha-256 or scram-sha-512. Empty: no login." env:"LIVEGRAPH_KAFKA_SASL_MECHANISM" json:"mechanism,omitempty"`
	SASLUsername  string    `name:"sasl-username" help:"Username of the login to the brokers." env:"LIVEGRAPH_KAFKA_SASL_USERNAME" json:"username,omitempty"`
	SASLPassword  Secret    `name:"sasl-password" help:"Password of the login to the brokers." env:"LIVEGRAPH_KAFKA_SASL_PASSWORD" json:"-"`
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
	if k.MinInsyncReplicas < -1 {
		invalid("kafka-min-insync-replicas", "must be at least -1")
	}
	if k.Replication > 0 && k.MinInsyncReplicas > k.Replication {
		invalid("kafka-min-insync-replicas", "must not be higher than --kafka-replication: no record would be accepted")
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
