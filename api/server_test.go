package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/internal/platform/config"
)

func noop(http.ResponseWriter, *http.Request) error { return nil }

func TestARouteMustDeclareWhatItRequires(t *testing.T) {
	for name, routes := range map[string][]route.Route{
		"no scope": {{Method: "GET", Pattern: "/api/x", Handle: noop}},
		"a scope without workspace": {
			{Method: "GET", Pattern: "/api/x", Access: route.Global, Scopes: request.Scopes, Handle: noop},
		},
		"twice": {
			{Method: "GET", Pattern: "/api/x", Access: route.Global, Handle: noop},
			{Method: "GET", Pattern: "/api/x", Access: route.Public, Handle: noop},
		},
		"a key outside /api": {{Method: "GET", Pattern: "/x", Access: route.Global, Handle: noop}},
		"public under /api":  {{Method: "GET", Pattern: "/api/x", Access: route.Public, Handle: noop}},
	} {
		_, err := api.New(api.Deps{Routes: routes})
		require.Error(t, err, name)
	}
	_, err := api.New(api.Deps{Routes: []route.Route{
		{Method: "GET", Pattern: "/api/x", Scopes: request.Scopes, Handle: noop},
	}})
	require.NoError(t, err)
}

func TestAProxyMustBeANetwork(t *testing.T) {
	_, err := api.New(api.Deps{Config: config.API{TrustedProxies: []string{"10.0.0.1"}}})
	require.ErrorContains(t, err, "10.0.0.1")
}
