package api

import (
	_ "embed" // of the page
	"net/http"
	"strings"

	"github.com/swaggest/swgui/v5emb"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/fault"
	"github.com/livegraph/livegraph/schemas"
)

// The page that renders the contract. It is ours rather than the library's,
// whose script is inline: so the policy can forbid inline scripts. Nothing is
// fetched from elsewhere.
//
//go:embed docs/index.html
var docsPage []byte

//go:embed docs/init.js
var docsScript []byte

// docsPolicy lets the page load its own files only. Swagger UI sets styles from
// its script and shows data: images.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func serveOpenAPI(w http.ResponseWriter, r *http.Request) error {
	return serveFile(w, r, "application/yaml; charset=utf-8", schemas.OpenAPI)
}

func serveDocsPage(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Security-Policy", docsPolicy)
	return serveFile(w, r, "text/html; charset=utf-8", docsPage)
}

// docsAssets serves Swagger UI's files and our script.
func docsAssets() func(http.ResponseWriter, *http.Request) error {
	library := v5emb.New("Livegraph", openAPIPath, docsPath+"/")
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Security-Policy", docsPolicy)
		switch name := strings.TrimPrefix(r.URL.Path, docsPath+"/"); name {
		case "init.js":
			return serveFile(w, r, "text/javascript; charset=utf-8", docsScript)
		case "swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-16x16.png", "favicon-32x32.png":
			library.ServeHTTP(w, r)
			return nil
		}
		return fault.New(fault.NotFound, "No such path")
	}
}

// serveFile answers with a file that is part of the binary.
func serveFile(w http.ResponseWriter, r *http.Request, contentType string, content []byte) error {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-cache")
	if reply.NotModified(w, r, reply.ETag(content)) {
		return nil
	}
	_, _ = w.Write(content) // the client is gone: nothing to do
	return nil
}
