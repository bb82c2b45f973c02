package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/config"
	"github.com/livegraph/livegraph/storage/postgres/alerting"
)

// Limits of Alertmanagers.
const (
	maxAlertmanagers = 10
	maxURL           = 2000 // characters
	maxUsername      = 256  // characters
	maxSecret        = 4096 // characters of a password, a token or the value of a header
	maxHeaders       = 10
	maxHeaderName    = 100 // characters
)

// setAlertmanagers is the body of PUT alertmanagers. It has one of the lists. Alertmanagers that are given by their
// URLs only keep what is stored of them.
type setAlertmanagers struct {
	URLs          []string          `json:"urls"`
	Alertmanagers []newAlertmanager `json:"alertmanagers"`
}

// newAlertmanager is an Alertmanager as a client sets it. A secret that is nil stays as it is stored.
type newAlertmanager struct {
	URL           *string           `json:"url"`
	Authorization *newAuthorization `json:"authorization"`
	Headers       []newHeader       `json:"headers"`
}

type newAuthorization struct {
	Type     *string        `json:"type"`
	Username *string        `json:"username"`
	Password *config.Secret `json:"password"`
	Token    *config.Secret `json:"token"`
}

type newHeader struct {
	Name  *string        `json:"name"`
	Value *config.Secret `json:"value"`
}

// check validates what does not depend on the stored Alertmanagers.
func (b *setAlertmanagers) check(checkURL func(string) error) error {
	var c request.Check
	c.Required("urls", b.URLs != nil || b.Alertmanagers != nil)
	if b.URLs != nil && b.Alertmanagers != nil {
		c.Fail("urls", "must not be combined with alertmanagers")
	}
	checkCount(&c, "urls", len(b.URLs), maxAlertmanagers)
	for i, address := range b.URLs[:min(len(b.URLs), maxAlertmanagers)] {
		checkAddress(&c, fmt.Sprintf("urls[%d]", i), address, checkURL)
	}
	checkCount(&c, "alertmanagers", len(b.Alertmanagers), maxAlertmanagers)
	seen := map[string]bool{}
	for i := range b.Alertmanagers[:min(len(b.Alertmanagers), maxAlertmanagers)] {
		a, field := &b.Alertmanagers[i], fmt.Sprintf("alertmanagers[%d]", i)
		c.Required(field+".url", a.URL != nil)
		if a.URL != nil {
			checkAddress(&c, field+".url", *a.URL, checkURL)
			if seen[*a.URL] {
				c.Fail(field+".url", "must not be repeated")
			}
			seen[*a.URL] = true
		}
		a.Authorization.check(&c, field+".authorization")
		checkHeaders(&c, field+".headers", a.Headers)
	}
	return c.Err()
}

func checkCount(c *request.Check, field string, n, limit int) {
	if n > limit {
		c.Fail(field, fmt.Sprintf("must be at most %d", limit))
	}
}

func checkAddress(c *request.Check, field, address string, checkURL func(string) error) {
	c.Text(field, address, 1, maxURL)
	if err := checkURL(address); err != nil {
		c.Fail(field, err.Error())
	}
}

// check validates an authorization, nil if there is none.
func (a *newAuthorization) check(c *request.Check, field string) {
	if a == nil {
		return
	}
	c.Required(field+".type", a.Type != nil)
	if a.Type == nil {
		return
	}
	switch kind := *a.Type; alerting.Auth(kind) {
	case alerting.Basic:
		a.checkBasic(c, field)
	case alerting.Bearer:
		absent(c, field+".username", a.Username != nil, kind)
		absent(c, field+".password", a.Password != nil, kind)
		if a.Token != nil && !tokenPattern.MatchString(a.Token.Reveal()) {
			c.Fail(field+".token", "must consist of visible ASCII characters without spaces")
		}
		checkSecret(c, field+".token", a.Token)
	case alerting.NoAuth:
		fallthrough
	default:
		c.OneOf(field+".type", kind, string(alerting.Basic), string(alerting.Bearer))
	}
}

func (a *newAuthorization) checkBasic(c *request.Check, field string) {
	c.Required(field+".username", a.Username != nil)
	if a.Username != nil {
		c.Text(field+".username", *a.Username, 1, maxUsername)
		if strings.Contains(*a.Username, ":") {
			c.Fail(field+".username", "must not contain a colon")
		}
	}
	checkSecret(c, field+".password", a.Password)
	absent(c, field+".token", a.Token != nil, string(alerting.Basic))
}

// absent checks that a field that does not belong to a type of authorization is not given.
func absent(c *request.Check, field string, present bool, kind string) {
	if present {
		c.Fail(field, "must not be given with the type "+kind)
	}
}

// checkSecret checks the length of a secret, nil if it is not given, and that it has no control characters.
func checkSecret(c *request.Check, field string, secret *config.Secret) {
	if secret != nil {
		c.Text(field, secret.Reveal(), 1, maxSecret)
	}
}

// Text that is valid in a header.
var (
	tokenPattern = regexp.MustCompile(`^[!-~]*$`)
	valuePattern = regexp.MustCompile(`^([!-~]([ -~]*[!-~])?)?$`)
)

func checkHeaders(c *request.Check, field string, headers []newHeader) {
	checkCount(c, field, len(headers), maxHeaders)
	seen := map[string]bool{}
	for i := range headers[:min(len(headers), maxHeaders)] {
		h, field := &headers[i], fmt.Sprintf("%s[%d]", field, i)
		c.Required(field+".name", h.Name != nil)
		if h.Name != nil {
			name := strings.ToLower(*h.Name)
			checkHeaderName(c, field+".name", name)
			if seen[name] {
				c.Fail(field+".name", "must not be repeated")
			}
			seen[name] = true
		}
		if h.Value != nil && !valuePattern.MatchString(h.Value.Reveal()) {
			c.Fail(field+".value", "must consist of printable ASCII characters, without spaces at its ends")
		}
		checkSecret(c, field+".value", h.Value)
	}
}

// reserved are the headers that the server or the connection sets. Those that begin with content- or proxy- are, too.
var reserved = []string{
	"accept-encoding", "connection", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
	"user-agent",
}

func checkHeaderName(c *request.Check, field, name string) {
	c.Text(field, name, 1, maxHeaderName)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		c.Fail(field, "must be the name of a header")
	case name == "authorization":
		c.Fail(field, "must not be Authorization: use the field authorization")
	case slices.Contains(reserved, name), strings.HasPrefix(name, "content-"), strings.HasPrefix(name, "proxy-"):
		c.Fail(field, "must not be a header that the server sets")
	}
}

// replace returns the Alertmanagers that the body describes, with the stored secrets of those that it does not give. A
// secret is kept only for the same URL: it never reaches another address than that for which it was given.
func (b *setAlertmanagers) replace(current []alerting.Alertmanager) ([]alerting.Alertmanager, error) {
	stored := make(map[string]*alerting.Alertmanager, len(current))
	for i := range current {
		stored[current[i].URL] = &current[i]
	}
	next := make([]alerting.Alertmanager, 0, len(b.URLs)+len(b.Alertmanagers))
	urls := slices.Clone(b.URLs)
	slices.Sort(urls)
	for _, address := range slices.Compact(urls) {
		if same := stored[address]; same != nil {
			next = append(next, *same)
		} else {
			next = append(next, alerting.Alertmanager{URL: address})
		}
	}
	var c request.Check
	for i := range b.Alertmanagers {
		a := &b.Alertmanagers[i]
		same := stored[*a.URL]
		if same == nil {
			same = &alerting.Alertmanager{}
		}
		next = append(next, a.replace(&c, fmt.Sprintf("alertmanagers[%d]", i), same))
	}
	return next, c.Err()
}

// replace returns the Alertmanager that a describes. stored is that of the URL, the zero one if there is none.
func (a *newAlertmanager) replace(c *request.Check, field string, stored *alerting.Alertmanager) alerting.Alertmanager {
	next := alerting.Alertmanager{URL: *a.URL, Headers: make(map[string]config.Secret, len(a.Headers))}
	if given := a.Authorization; given != nil {
		next.Auth = alerting.Auth(*given.Type)
		secret, name := given.Token, ".authorization.token"
		if next.Auth == alerting.Basic {
			next.Username, secret, name = *given.Username, given.Password, ".authorization.password"
		}
		next.Secret = kept(c, field+name, secret, stored.Secret, stored.Auth == next.Auth)
	}
	for i, h := range a.Headers {
		var (
			value config.Secret
			found bool
		)
		for name, old := range stored.Headers {
			if strings.EqualFold(name, *h.Name) {
				value, found = old, true
			}
		}
		next.Headers[*h.Name] = kept(c, fmt.Sprintf("%s.headers[%d].value", field, i), h.Value, value, found)
	}
	return next
}

// kept returns the given secret, or the stored one if none is given.
func kept(c *request.Check, field string, given *config.Secret, stored config.Secret, found bool) config.Secret {
	if given != nil {
		return *given
	}
	if !found {
		c.Fail(field, "must be given, because none is stored for this URL")
	}
	return stored
}
