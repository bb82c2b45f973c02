package api

import (
	"net/http"

	"github.com/livegraph/livegraph/api/route"
)

// dialects finds the dialect of a request by its path.
type dialects struct {
	byPath   map[string]*route.Route // of routes with a fixed path
	prefixed []*route.Dialect        // of all paths below their prefixes
}

func newDialects(routes []route.Route) dialects {
	d := dialects{byPath: map[string]*route.Route{}}
	seen := map[string]bool{}
	for i := range routes {
		switch rt := &routes[i]; {
		case rt.Dialect == nil:
		case rt.Dialect.Prefix == "":
			d.byPath[rt.Pattern] = rt
		case !seen[rt.Dialect.Prefix]:
			seen[rt.Dialect.Prefix] = true
			d.prefixed = append(d.prefixed, rt.Dialect)
		}
	}
	return d
}

// of returns the dialect in which keys are sent to the path of a request, or nil.
func (d *dialects) of(r *http.Request) *route.Dialect {
	if rt := d.byPath[r.URL.Path]; rt != nil {
		return rt.Dialect
	}
	return d.below(r)
}

// ofErrors returns the dialect of the error responses to a request, or nil. A method without a route is
// answered in the envelope, unless the dialect applies to a prefix.
func (d *dialects) ofErrors(r *http.Request) *route.Dialect {
	if rt := d.byPath[r.URL.Path]; rt != nil && rt.Method == r.Method {
		return rt.Dialect
	}
	return d.below(r)
}

func (d *dialects) below(r *http.Request) *route.Dialect {
	for _, dialect := range d.prefixed {
		if under(r, dialect.Prefix) {
			return dialect
		}
	}
	return nil
}
