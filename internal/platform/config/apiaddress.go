package config

import (
	"net/url"
	"strings"
)

// apiAddress is the address of an OpenAI-compatible API, with its key.
type apiAddress struct {
	setting      string // with the address
	prefix       string // of the other settings
	path         string // that is added to the address
	otherValues  string // such as "neither empty nor", of the setting with the address
	address      string
	key          Secret
	allowPrivate bool
}

// validate validates the address and the key. The address is displayed and must not contain a secret. It returns false
// if the address is no URL.
func (a *apiAddress) validate(invalid func(setting, format string, args ...any)) bool {
	u, err := url.Parse(a.address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		invalid(a.setting, "is %s a URL with scheme https, http (its value is not shown)", a.otherValues)
		return false
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		invalid(a.setting, "must hold no user, query or fragment; a key goes into --%s-key", a.prefix)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), a.path):
		invalid(a.setting, "is the base URL, without %s at its end", a.path)
	case u.Scheme == "http" && !a.allowPrivate:
		invalid(
			a.setting, "must be https://: http:// is for private networks, see --%s-allow-private-addresses", a.prefix,
		)
	}
	if strings.ContainsFunc(a.key.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) {
		invalid(a.prefix+"-key", "has characters that no key has (its value is not shown)")
	}
	return true
}

// bounds are the allowed values of a number.
type bounds struct {
	setting         string
	value, min, max int
}

func (b *bounds) validate(invalid func(setting, format string, args ...any)) {
	if b.value < b.min || b.value > b.max {
		invalid(b.setting, "must be from %d to %d", b.min, b.max)
	}
}

// validateOptional validates the settings of a model behind an address, which may be empty. Without it, the others must
// not be set.
func (a *apiAddress) validateOptional(
	model string, files *EngineTLS, invalid func(setting, format string, args ...any),
) {
	files.validate(
		a.prefix+"-tls", strings.HasPrefix(a.address, "https://"), "--"+a.setting+" as https://…", invalid,
	)
	if a.address != "" {
		a.validate(invalid)
		if model == "" {
			invalid(a.prefix+"-model", "is needed with a URL")
		}
		return
	}
	for _, s := range []struct {
		setting string
		set     bool
	}{
		{"key", a.key != ""}, {"model", model != ""}, {"allow-private-addresses", a.allowPrivate},
	} {
		if s.set {
			invalid(a.prefix+"-"+s.setting, "is for a URL in --%s, which is empty", a.setting)
		}
	}
}
