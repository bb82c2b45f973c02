package stores

import (
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/kafka/secure"
)

// KafkaSecurity reads the certificates and returns the security settings for every client
// of Kafka. Its errors name the setting.
func KafkaSecurity(cfg *config.Kafka) (secure.Config, error) {
	files, err := cfg.Client()
	if err != nil {
		return secure.Config{}, err
	}
	return secure.New(files, cfg.Mechanism(), cfg.SASLUsername, cfg.SASLPassword.Reveal())
}
