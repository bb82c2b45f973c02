package kafka

import (
	"crypto/tls"
	"errors"
	"io"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// Refused is a failure to connect that trying again does not cure: client and
// broker do not agree on who they are, or the user lacks a right.
type Refused struct {
	Advice string // what to do, for an operator
	cause  error
}

// Error tells the cause and what to do.
func (e *Refused) Error() string { return e.cause.Error() + ": " + e.Advice }

// Unwrap returns the cause.
func (e *Refused) Unwrap() error { return e.cause }

// What to do about a connection that fails.
const (
	adviceNoTLS = "TLS seems not to be spoken there: use the port of the brokers' TLS listener, or unset " +
		"LIVEGRAPH_KAFKA_TLS"
	adviceTLS       = "the brokers want TLS there: set LIVEGRAPH_KAFKA_TLS"
	adviceLogin     = "check LIVEGRAPH_KAFKA_SASL_USERNAME and LIVEGRAPH_KAFKA_SASL_PASSWORD"
	adviceMechanism = "the brokers do not offer this way to log in: set LIVEGRAPH_KAFKA_SASL_MECHANISM to one that they do"
	adviceNoLogin   = "nobody logs in there: use the port of the listener for SASL, or unset " +
		"LIVEGRAPH_KAFKA_SASL_MECHANISM"
	adviceRights = "give the user the rights that docs/operations.md lists"
	adviceClosed = "the broker closes the connection: check that LIVEGRAPH_KAFKA_TLS and LIVEGRAPH_KAFKA_SASL_MECHANISM " +
		"are what this listener wants, and the login"
)

// Explain makes a *Refused of an error that is one, and gives others as they are.
func Explain(err error) error {
	var refused *Refused
	if err == nil || errors.As(err, &refused) {
		return err
	}
	if advice := adviceOn(err); advice != "" {
		return &Refused{Advice: advice, cause: err}
	}
	return err
}

// Advice reports what to do about an error of a connection; "" where that is not
// known. It knows more than Explain: also what may be cured by waiting.
func Advice(err error) string {
	var refused *Refused
	if errors.As(Explain(err), &refused) {
		return refused.Advice
	}
	if errors.Is(err, errNoHandshake) {
		return adviceNoTLS
	}
	var first *kgo.ErrFirstReadEOF
	if errors.As(err, &first) || errors.Is(err, io.EOF) {
		return adviceClosed
	}
	return ""
}

// settings are the names of ours, for advice on TLS.
var settings = tlsconfig.Settings{
	Address: "LIVEGRAPH_KAFKA_BROKERS", CA: "LIVEGRAPH_KAFKA_TLS_CA", ServerName: "LIVEGRAPH_KAFKA_TLS_SERVER_NAME",
	Pair: "LIVEGRAPH_KAFKA_TLS_CERT and LIVEGRAPH_KAFKA_TLS_KEY",
}

func adviceOn(err error) string {
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &header):
		return adviceNoTLS
	case strings.Contains(err.Error(), "tls alert record"): // franz-go has no type for it
		return adviceTLS
	}
	if advice := settings.Advice(err); advice != "" {
		return advice
	}
	for failure, advice := range map[*kerr.Error]string{
		kerr.SaslAuthenticationFailed: adviceLogin, kerr.UnsupportedSaslMechanism: adviceMechanism,
		kerr.IllegalSaslState: adviceNoLogin, kerr.TopicAuthorizationFailed: adviceRights,
		kerr.ClusterAuthorizationFailed: adviceRights, kerr.GroupAuthorizationFailed: adviceRights,
	} {
		if errors.Is(err, failure) {
			return advice
		}
	}
	return ""
}
