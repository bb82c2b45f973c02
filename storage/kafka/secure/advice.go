package secure

import (
	"crypto/tls"
	"errors"
	"io"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
)

// AccessError is a connection error that a retry does not solve: TLS or the login fails, or the user has
// insufficient rights.
type AccessError struct {
	Advice string // what an operator should do
	cause  error
}

// Error returns the cause and the advice.
func (e *AccessError) Error() string { return e.cause.Error() + ": " + e.Advice }

// Unwrap returns the cause.
func (e *AccessError) Unwrap() error { return e.cause }

// Advice on connection errors.
const (
	adviceNoTLS = "the address does not seem to accept TLS: use the port of the brokers' TLS listener, or unset " +
		"LIVEGRAPH_KAFKA_TLS"
	adviceTLS       = "the brokers require TLS at this address: set LIVEGRAPH_KAFKA_TLS"
	adviceLogin     = "check LIVEGRAPH_KAFKA_SASL_USERNAME and LIVEGRAPH_KAFKA_SASL_PASSWORD"
	adviceMechanism = "the brokers do not support this mechanism: set LIVEGRAPH_KAFKA_SASL_MECHANISM to one that they do"
	adviceNoLogin   = "the address does not accept logins: use the port of the listener for SASL, or unset " +
		"LIVEGRAPH_KAFKA_SASL_MECHANISM"
	adviceRights = "give the user the rights that docs/operations.md lists"
	adviceClosed = "the broker closes the connection: check that LIVEGRAPH_KAFKA_TLS and LIVEGRAPH_KAFKA_SASL_MECHANISM " +
		"are what this listener requires, and the login"
)

// Explain returns an error that a retry does not solve as an *AccessError with advice, and other errors
// unchanged.
func Explain(err error) error {
	var refused *AccessError
	if err == nil || errors.As(err, &refused) {
		return err
	}
	if advice := adviceFor(err); advice != "" {
		return &AccessError{Advice: advice, cause: err}
	}
	return err
}

// Advice returns advice on a connection error, or "" if there is none. Unlike Explain, it also covers
// errors that a retry may solve.
func Advice(err error) string {
	var refused *AccessError
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

// settingNames are the names of the Kafka settings, for advice on TLS errors.
var settingNames = tlsconfig.Settings{
	Address: "LIVEGRAPH_KAFKA_BROKERS", CA: "LIVEGRAPH_KAFKA_TLS_CA", ServerName: "LIVEGRAPH_KAFKA_TLS_SERVER_NAME",
	Pair: "LIVEGRAPH_KAFKA_TLS_CERT and LIVEGRAPH_KAFKA_TLS_KEY",
}

// adviceFor returns advice on an error that a retry does not solve, or "".
func adviceFor(err error) string {
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &header):
		return adviceNoTLS
	case strings.Contains(err.Error(), "tls alert record"): // franz-go has no error type for it
		return adviceTLS
	}
	if advice := settingNames.Advice(err); advice != "" {
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
