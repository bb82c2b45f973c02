package api

import (
	"bytes"
	_ "embed" // of the page
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/klauspost/compress/gzip"
	"github.com/swaggest/swgui/v5/static"

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

// docsFiles are the files of the page and how they are sent. Those ending in .gz
// are compressed in the binary.
var docsFiles = map[string]struct{ file, contentType string }{
	"init.js":              {"", "text/javascript; charset=utf-8"},
	"swagger-ui-bundle.js": {"swagger-ui-bundle.js.gz", "text/javascript; charset=utf-8"},
	"swagger-ui.css":       {"swagger-ui.css.gz", "text/css; charset=utf-8"},
	"favicon-32x32.png":    {"favicon-32x32.png", "image/png"},
}

// serveDocsAsset serves Swagger UI's files and our script.
func serveDocsAsset(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "*")
	asset, ok := docsFiles[name]
	if !ok {
		return fault.New(fault.NotFound, "No such path")
	}
	w.Header().Set("Content-Security-Policy", docsPolicy)
	if asset.file == "" {
		return serveFile(w, r, asset.contentType, docsScript)
	}
	content, err := static.FS.ReadFile(asset.file)
	if err != nil {
		return fmt.Errorf("reading %s: %w", asset.file, err)
	}
	if strings.HasSuffix(asset.file, ".gz") {
		unpacked, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", asset.file, err)
		}
		if content, err = io.ReadAll(unpacked); err != nil {
			return fmt.Errorf("unpacking %s: %w", asset.file, err)
		}
	}
	return serveFile(w, r, asset.contentType, content)
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
