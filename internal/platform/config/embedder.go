package config

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// EmbedderStatic is the setting for the model inside the binary.
const EmbedderStatic = "static"

// maxDimensions is the maximum number of dimensions of a vector in Milvus.
const maxDimensions = 32768

// maxPrefix is the maximum length of a text before queries or passages.
const maxPrefix = 500

// embedderRoles are the roles that embed texts: api those of queries, embeddings those of nodes.
var embedderRoles = []string{"api", "embeddings"}

// Embedder holds the settings of the embedder, which computes vectors of texts. Vectors of
// two models cannot be compared, so there is no fallback from one model to another.
type Embedder struct {
	// Address is empty, EmbedderStatic, the name of an embedded model, or a base URL.
	Address               string        `name:"embedder" help:"Embedder, which turns text into vectors: static (a model inside the binary, 256 dimensions); an embedded model, started by each process with a role that requires it: all-MiniLM-L6-v2 (English) or multilingual-e5-small (about 100 languages); or the base URL of an OpenAI-compatible API, such as https://api.openai.com/v1. Empty: all-MiniLM-L6-v2. Another model builds another index." env:"LIVEGRAPH_EMBEDDER"`
	Key                   Secret        `name:"embedder-key" help:"API key for the URL. Empty: no authentication." env:"LIVEGRAPH_EMBEDDER_KEY"`
	Model                 string        `name:"embedder-model" help:"Model to request from the URL. Required with a URL." env:"LIVEGRAPH_EMBEDDER_MODEL"`
	Dimensions            int           `name:"embedder-dimensions" help:"Number of dimensions of the model's vectors. Required with a URL." env:"LIVEGRAPH_EMBEDDER_DIMENSIONS"`
	QueryPrefix           string        `name:"embedder-query-prefix" help:"Text before each query, with its space at the end, for a model at a URL that was trained with one, such as 'query: '. Empty: none." env:"LIVEGRAPH_EMBEDDER_QUERY_PREFIX"`
	PassagePrefix         string        `name:"embedder-passage-prefix" help:"Text before each indexed text, such as 'passage: '. After a change of it, re-index. Empty: none." env:"LIVEGRAPH_EMBEDDER_PASSAGE_PREFIX"`
	AllowPrivateAddresses bool          `name:"embedder-allow-private-addresses" help:"Allow a URL that leads to this machine or into a private network, and http:// URLs." default:"false" env:"LIVEGRAPH_EMBEDDER_ALLOW_PRIVATE_ADDRESSES"`
	Batch                 int           `name:"embedder-batch" help:"Maximum number of texts in a request." default:"64" env:"LIVEGRAPH_EMBEDDER_BATCH"`
	Timeout               time.Duration `name:"embedder-timeout" help:"Timeout of a request." default:"30s" env:"LIVEGRAPH_EMBEDDER_TIMEOUT"`
	QueryTimeout          time.Duration `name:"embedder-query-timeout" help:"Timeout of embedding a query. After it, the search uses only words and reports this." default:"300ms" env:"LIVEGRAPH_EMBEDDER_QUERY_TIMEOUT"`
	Retries               int           `name:"embedder-retries" help:"Maximum number of retries of a request after a temporary failure. The wait between retries grows from half a second to half a minute." default:"4" env:"LIVEGRAPH_EMBEDDER_RETRIES"`
	Threads               int           `name:"embedder-threads" help:"Embedded embedder only: number of concurrent batches of passages, and of queries, each on one core. 0: one per core, at most 8." default:"0" env:"LIVEGRAPH_EMBEDDER_THREADS"`
	TLS                   EngineTLS     `embed:"" prefix:"embedder-tls-" envprefix:"LIVEGRAPH_EMBEDDER_TLS_"`

	PreviousAddress     string `name:"previous-embedder" help:"Base URL of the API with the model of the current search index. It embeds queries while an index for another model is built, until the new index is complete. Not required for static, nor for an embedded model if it has run on this data directory." env:"LIVEGRAPH_PREVIOUS_EMBEDDER"`
	PreviousKey         Secret `name:"previous-embedder-key" help:"API key for the URL of the previous embedder. Empty: no authentication." env:"LIVEGRAPH_PREVIOUS_EMBEDDER_KEY"`
	PreviousModel       string `name:"previous-embedder-model" help:"Model to request from the URL of the previous embedder. Required with a URL." env:"LIVEGRAPH_PREVIOUS_EMBEDDER_MODEL"`
	PreviousDimensions  int    `name:"previous-embedder-dimensions" help:"Number of dimensions of the previous model's vectors. Required with a URL." env:"LIVEGRAPH_PREVIOUS_EMBEDDER_DIMENSIONS"`
	PreviousQueryPrefix string `name:"previous-embedder-query-prefix" help:"Text before each query for the previous embedder. Empty: none." env:"LIVEGRAPH_PREVIOUS_EMBEDDER_QUERY_PREFIX"`
}

// Static reports whether the model inside the binary is used.
func (e Embedder) Static() bool { return e.Address == EmbedderStatic }

// Embedded returns the embedded model that is selected. It returns false for another embedder, and after UseEmbedded.
func (e Embedder) Embedded() (EmbeddedModel, bool) { return FindEmbeddedModel(e.Address) }

// Remote reports whether the embedder has a URL, from a setting or from UseEmbedded.
func (e Embedder) Remote() bool {
	_, embedded := e.Embedded()
	return !embedded && !e.Static()
}

// encrypted reports whether the configured or the previous embedder uses TLS.
func (e Embedder) encrypted() bool {
	return strings.HasPrefix(e.Address, "https://") || strings.HasPrefix(e.PreviousAddress, "https://")
}

// ForQueries returns the settings of a client for queries, whose latency matters: it
// does not retry, and its timeout is QueryTimeout.
func (e Embedder) ForQueries() Embedder {
	e.Retries, e.Timeout = 0, e.QueryTimeout
	return e
}

// ForTexts returns the settings of a client for the texts of results, which a request waits for: it does not retry.
func (e Embedder) ForTexts() Embedder {
	e.Retries = 0
	return e
}

// Previous returns the settings of the previously configured embedder.
func (e Embedder) Previous() Embedder {
	e.Address, e.Key, e.Model, e.Dimensions = e.PreviousAddress, e.PreviousKey, e.PreviousModel, e.PreviousDimensions
	e.QueryPrefix, e.PassagePrefix = e.PreviousQueryPrefix, ""
	return e
}

// NeedsEmbedder reports whether the embedded embedder must be started: no other is
// configured, and this process has a role that requires one.
func (c *Config) NeedsEmbedder() bool {
	_, embedded := c.Embedder.Embedded()
	return embedded && slices.ContainsFunc(embedderRoles, c.Has)
}

// UseEmbedded sets the address, the key and the model of an embedder that runs on this
// machine. The address contains the key: http://:key@host:port/v1.
func (e *Embedder) UseEmbedded(address string, model EmbeddedModel) {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return
	}
	key, _ := u.User.Password()
	u.User = nil
	e.Address, e.Key, e.Model, e.Dimensions = u.String(), Secret(key), model.Name, model.Dimensions
	e.QueryPrefix, e.PassagePrefix, e.AllowPrivateAddresses = model.QueryPrefix, model.PassagePrefix, true
}

func (e Embedder) validate(invalid func(setting, format string, args ...any)) {
	if e.Batch < 1 || e.Batch > 2048 {
		invalid("embedder-batch", "must be from 1 to 2048")
	}
	if e.Timeout <= 0 {
		invalid("embedder-timeout", "must be above zero")
	}
	if e.QueryTimeout <= 0 {
		invalid("embedder-query-timeout", "must be above zero")
	}
	e.validatePrevious(invalid)
	e.validatePrefixes(invalid)
	if e.Retries < 0 || e.Retries > 20 {
		invalid("embedder-retries", "must be from 0 to 20")
	}
	if e.Threads < 0 || e.Threads > 1024 {
		invalid("embedder-threads", "must be from 0 to 1024")
	}
	if e.Remote() {
		e.validateURL(invalid)
		return
	}
	previous := e.Previous()
	e.TLS.validate("embedder-tls", e.encrypted(), "--embedder as https://…", invalid)
	for _, s := range []struct {
		flag string
		set  bool
	}{
		{"embedder-key", e.Key != ""}, {"embedder-model", e.Model != ""}, {"embedder-dimensions", e.Dimensions != 0},
		{"embedder-query-prefix", e.QueryPrefix != ""}, {"embedder-passage-prefix", e.PassagePrefix != ""},
		{"embedder-allow-private-addresses", e.AllowPrivateAddresses && !previous.Remote()}, // applies to both
	} {
		if s.set {
			invalid(s.flag, "is for a URL in --embedder; that is empty, static or the name of an embedded model")
		}
	}
}

// validatePrevious validates the settings of the previously configured embedder.
func (e Embedder) validatePrevious(invalid func(setting, format string, args ...any)) {
	previous := e.Previous()
	switch {
	case previous.Remote():
		previous.validateURL(func(setting, format string, args ...any) {
			if strings.HasPrefix(setting, "embedder-tls") || setting == "embedder-allow-private-addresses" {
				return // shared by both embedders; validated once
			}
			invalid("previous-"+setting, format, args...)
		})
	case e.PreviousAddress == "" && (e.PreviousKey != "" || e.PreviousModel != "" || e.PreviousDimensions != 0 ||
		e.PreviousQueryPrefix != ""):
		invalid("previous-embedder", "is needed with the other settings of the previous embedder")
	case e.PreviousAddress != "" && !previous.Static():
		invalid("previous-embedder", "is for a URL; an embedded model that has run on this data directory needs no setting")
	}
}

// validatePrefixes validates the texts before queries and passages.
func (e Embedder) validatePrefixes(invalid func(setting, format string, args ...any)) {
	for _, s := range []struct{ flag, prefix string }{
		{"embedder-query-prefix", e.QueryPrefix}, {"embedder-passage-prefix", e.PassagePrefix},
		{"previous-embedder-query-prefix", e.PreviousQueryPrefix},
	} {
		if len(s.prefix) > maxPrefix || !utf8.ValidString(s.prefix) {
			invalid(s.flag, "must be valid UTF-8 of at most %d bytes", maxPrefix)
		}
	}
}

// validateURL validates the settings of an embedder with a URL. The URL is displayed and
// must not contain a secret.
func (e Embedder) validateURL(invalid func(setting, format string, args ...any)) {
	api := apiAddress{
		setting: "embedder", prefix: "embedder", path: "/embeddings",
		otherValues: "neither empty nor static nor one of " + embeddedNames() + " nor",
		address:     e.Address, key: e.Key, allowPrivate: e.AllowPrivateAddresses,
	}
	if !api.validate(invalid) {
		return
	}
	if e.Model == "" {
		invalid("embedder-model", "is needed with a URL")
	}
	if e.Dimensions < 1 || e.Dimensions > maxDimensions {
		invalid("embedder-dimensions", "is needed with a URL, from 1 to %d", maxDimensions)
	}
	e.TLS.validate("embedder-tls", e.encrypted(), "--embedder as https://…", invalid)
}
