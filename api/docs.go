package api

import (
	"bytes"
	_ "embed" // of the page
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"
	"github.com/klauspost/compress/gzip"
	"github.com/swaggest/swgui/v5/static"

	"github.com/livegraph/livegraph/api/asset"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas"
)

// docsPage renders openapi.yaml. It replaces the library's page, whose script is inline, so
// that the policy can forbid inline scripts. It loads nothing from other hosts.
//
//go:embed docs/index.html
var docsPage []byte

//go:embed docs/init.js
var docsScript []byte

// docsPolicy allows the page to load files of this server only. Swagger UI sets styles from
// its script and shows data: images.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docsCache requires clients to revalidate a file, because the next version of the binary
// has other files with the same names.
const docsCache = "no-cache"

// docsFiles are the files of the page with their content types. Those ending in .gz are
// compressed in the binary.
var docsFiles = map[string]struct{ file, contentType string }{
	"swagger-ui-bundle.js": {"swagger-ui-bundle.js.gz", contentScript},
	"swagger-ui.css":       {"swagger-ui.css.gz", "text/css; charset=utf-8"},
	"favicon-32x32.png":    {"favicon-32x32.png", "image/png"},
}

const contentScript = "text/javascript; charset=utf-8"

// docs are the files of the API documentation.
type docs struct {
	openAPI, page *asset.File
	assets        map[string]*asset.File
}

// loadDocs reads the files of the documentation, once per process.
var loadDocs = sync.OnceValues(func() (*docs, error) {
	d := &docs{
		openAPI: asset.New(schemas.OpenAPI, "application/yaml; charset=utf-8", docsCache, true),
		page:    asset.New(docsPage, "text/html; charset=utf-8", docsCache, true),
		assets:  map[string]*asset.File{"init.js": asset.New(docsScript, contentScript, docsCache, true)},
	}
	for name, source := range docsFiles {
		content, err := static.FS.ReadFile(source.file)
		if err == nil && strings.HasSuffix(source.file, ".gz") {
			content, err = unpackFile(content)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s of the documentation: %w", source.file, err)
		}
		d.assets[name] = asset.New(content, source.contentType, docsCache, source.contentType != "image/png")
	}
	return d, nil
})

func unpackFile(content []byte) ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(unpacked)
}

func (d *docs) serveOpenAPI(w http.ResponseWriter, r *http.Request) error {
	d.openAPI.Serve(w, r)
	return nil
}

func (d *docs) servePage(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Security-Policy", docsPolicy)
	d.page.Serve(w, r)
	return nil
}

// serveAsset serves the files of Swagger UI and init.js.
func (d *docs) serveAsset(w http.ResponseWriter, r *http.Request) error {
	file, ok := d.assets[chi.URLParam(r, "*")]
	if !ok {
		return fault.New(fault.NotFound, "No such path")
	}
	w.Header().Set("Content-Security-Policy", docsPolicy)
	file.Serve(w, r)
	return nil
}
