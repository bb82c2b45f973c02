package config

import "time"

// Bounds of the settings of the chat model.
const (
	maxChatTimeout = 5 * time.Minute
	maxChatTokens  = 8192
	minChatPrompt  = 8 << 10
	maxChatPrompt  = 1 << 20
)

// Chat holds the settings of the chat model, which writes the texts of answers. Without a URL, answers are only quoted.
type Chat struct {
	URL                   string        `help:"Base URL of an OpenAI-compatible API with a chat model, such as https://api.openai.com/v1. The model writes answers from the texts that a search finds, for requests with mode generate. These texts and the question are sent to it. Empty: answers are quoted only." env:"LIVEGRAPH_CHAT_URL"`
	Key                   Secret        `help:"API key for the URL. Empty: no authentication." env:"LIVEGRAPH_CHAT_KEY"`
	Model                 string        `help:"Model to request from the URL. Required with a URL." env:"LIVEGRAPH_CHAT_MODEL"`
	AllowPrivateAddresses bool          `help:"Allow a URL that leads to this machine or into a private network, and http:// URLs." default:"false" env:"LIVEGRAPH_CHAT_ALLOW_PRIVATE_ADDRESSES"`
	Timeout               time.Duration `help:"Timeout of writing an answer, with retries. After it, the answer is quoted, and the response reports it." default:"30s" env:"LIVEGRAPH_CHAT_TIMEOUT"`
	IdleTimeout           time.Duration `help:"Maximum time in which the model sends nothing, also before its first word." default:"15s" env:"LIVEGRAPH_CHAT_IDLE_TIMEOUT"`
	MaxTokens             int           `help:"Maximum length of an answer in tokens." default:"512" env:"LIVEGRAPH_CHAT_MAX_TOKENS"`
	MaxPromptBytes        int           `help:"Maximum size of a prompt in bytes, about four per token. It must fit into the context of the model together with an answer." default:"16384" env:"LIVEGRAPH_CHAT_MAX_PROMPT_BYTES"`
	Concurrency           int           `help:"Maximum number of answers that this process has written at the same time. One workspace may use half of them. Above it, answers are quoted after a second, and the response reports it." default:"8" env:"LIVEGRAPH_CHAT_CONCURRENCY"`
	Retries               int           `help:"Maximum number of retries of a request after a temporary failure, before the first word of the answer." default:"1" env:"LIVEGRAPH_CHAT_RETRIES"`
	TLS                   EngineTLS     `embed:"" prefix:"tls-" envprefix:"LIVEGRAPH_CHAT_TLS_"`
}

// Enabled reports whether a chat model is configured.
func (c *Chat) Enabled() bool { return c.URL != "" }

func (c *Chat) validate(invalid func(setting, format string, args ...any)) {
	if c.Timeout < time.Second || c.Timeout > maxChatTimeout {
		invalid("chat-timeout", "must be from 1s to %s", maxChatTimeout)
	}
	if c.IdleTimeout < time.Second || c.IdleTimeout > maxChatTimeout {
		invalid("chat-idle-timeout", "must be from 1s to %s", maxChatTimeout)
	}
	for _, number := range []bounds{
		{"chat-max-tokens", c.MaxTokens, 16, maxChatTokens},
		{"chat-max-prompt-bytes", c.MaxPromptBytes, minChatPrompt, maxChatPrompt},
		{"chat-concurrency", c.Concurrency, 1, 1000},
		{"chat-retries", c.Retries, 0, 20},
	} {
		number.validate(invalid)
	}
	api := apiAddress{
		setting: "chat-url", prefix: "chat", path: "/chat/completions", otherValues: "neither empty nor",
		address: c.URL, key: c.Key, allowPrivate: c.AllowPrivateAddresses,
	}
	api.validateOptional(c.Model, &c.TLS, invalid)
}
