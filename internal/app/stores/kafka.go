package stores

import (
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/kafka"
)

// KafkaSecurity reads the certificates and returns the security settings for every client
// of Kafka. Its errors name the setting.
func KafkaSecurity(cfg *config.Kafka) (kafka.Security, error) {
	files, err := cfg.Client()
	if err != nil {
		return kafka.Security{}, err
	}
	return kafka.NewSecurity(files, cfg.Mechanism(), cfg.SASLUsername, cfg.SASLPassword.Reveal())
}
