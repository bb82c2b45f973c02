package doctor

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/tlsconfig"
	"github.com/livegraph/livegraph/internal/retrieval/chat"
)

const chatVariable = "LIVEGRAPH_CHAT_URL"

var chatTLS = tlsconfig.Settings{
	Address: chatVariable, CA: "LIVEGRAPH_CHAT_TLS_CA", Pair: "LIVEGRAPH_CHAT_TLS_CERT and LIVEGRAPH_CHAT_TLS_KEY",
	ServerName: "LIVEGRAPH_CHAT_TLS_SERVER_NAME",
}

// chatTokens is the maximum length of the text that is requested.
const chatTokens = 16

// checkChat requests a word, because only that verifies key and model.
func checkChat(ctx context.Context, t Target) []Result {
	cfg := t.Chat
	if !cfg.Enabled() {
		return nil
	}
	const name = "chat model"
	files, err := cfg.TLS.Client("chat-tls")
	if err != nil {
		return failed(name, cfg.URL, err, filesAdvice)
	}
	client, err := chat.New(chat.Options{
		URL: cfg.URL, Key: cfg.Key.Reveal(), Model: cfg.Model, AllowPrivateAddresses: cfg.AllowPrivateAddresses,
		Timeout: checkTimeout, IdleTimeout: checkTimeout, MaxTokens: chatTokens, Concurrency: 1, TLS: files,
	})
	if err != nil {
		return failed(name, cfg.URL, err, "correct "+chatVariable)
	}
	defer client.Close()
	question := []chat.Message{{Role: chat.RoleUser, Content: "Write the word ready."}}
	if _, err := client.Complete(ctx, uuid.Nil, question, func(string) error { return nil }); err != nil {
		return failed(name, cfg.URL, err, chatAdvice(err))
	}
	return []Result{{Name: name, Status: OK, Address: cfg.URL, Detail: cfg.Model}}
}

// chatAdvice returns the advice for an error.
func chatAdvice(err error) string {
	return modelAdvice(err, chatTLS, "LIVEGRAPH_CHAT_KEY or LIVEGRAPH_CHAT_MODEL", "answers are quoted")
}

// modelAdvice returns the advice for an error of a model behind a URL. others are the settings besides the URL, and
// consequence is what happens until it answers.
func modelAdvice(err error, files tlsconfig.Settings, others, consequence string) string {
	if advice := files.Advice(err); advice != "" {
		return advice
	}
	var failure *fault.Error
	if errors.As(err, &failure) && (failure.Kind == fault.BadGateway || failure.Kind == fault.Invalid) {
		return "correct " + files.Address + ", " + others + ": the line above says which one"
	}
	return "check that it runs and that " + files.Address + " is right; until it answers, " + consequence
}
