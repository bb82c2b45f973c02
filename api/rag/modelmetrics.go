package rag

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/livegraph/livegraph/api/eventstream"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/openai"
)

// Outcomes of failed requests to a chat model or a reranker.
const (
	outcomeBusy        = "busy"         // as many requests as allowed were being answered
	outcomeRateLimited = "rate_limited" // the server answered 429
	outcomeUnavailable = "unavailable"
	outcomeTimeout     = "timeout"
	outcomeInvalid     = "invalid" // the answer could not be used
	outcomeRefused     = "refused" // the server or the model refused the text
	outcomeCancelled   = "cancelled"
	outcomeFailed      = "failed"
)

func failureOutcomes() []string {
	return []string{
		outcomeBusy, outcomeRateLimited, outcomeUnavailable, outcomeTimeout, outcomeInvalid, outcomeRefused,
		outcomeCancelled, outcomeFailed,
	}
}

// failureOutcome returns the outcome of a request that failed.
func failureOutcome(err error) string {
	var status *openai.StatusError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, eventstream.ErrDraining):
		return outcomeCancelled
	case errors.Is(err, openai.ErrBusy):
		return outcomeBusy
	case errors.As(err, &status) && status.Status == http.StatusTooManyRequests:
		return outcomeRateLimited
	}
	switch fault.KindOf(err) {
	case fault.Unavailable:
		return outcomeUnavailable
	case fault.Timeout:
		return outcomeTimeout
	case fault.BadGateway:
		return outcomeInvalid
	case fault.Invalid:
		return outcomeRefused
	case fault.Unauthenticated, fault.Forbidden: // the key no longer permits the stream
		return outcomeCancelled
	}
	return outcomeFailed
}

// outcomeReranked is the outcome of a request to the reranker that was answered.
const outcomeReranked = "reranked"

func newRerankMetric(factory promauto.Factory) *prometheus.CounterVec {
	requests := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "livegraph_search_reranks_total",
		Help: "Total number of searches whose results were to be reranked, by outcome: reranked, busy " +
			"(--rerank-concurrency), rate_limited (429 by the server), unavailable, timeout, invalid (unusable response), " +
			"refused, cancelled (by the client), failed. All but reranked and cancelled were answered in the order of the " +
			"search.",
	}, []string{"outcome"})
	for _, outcome := range append(failureOutcomes(), outcomeReranked) {
		requests.WithLabelValues(outcome)
	}
	return requests
}

func rerankOutcome(err error) string {
	switch {
	case err == nil:
		return outcomeReranked
	case errors.Is(err, context.DeadlineExceeded):
		return outcomeTimeout
	}
	return failureOutcome(err)
}
