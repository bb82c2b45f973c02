package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/livegraph/livegraph/api/asset"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	indexFile = "index.html"
	// assetFolder contains the files whose names change with their content.
	assetFolder = "assets/"
)

// Values of Cache-Control. They are private, so that proxies do not cache the UI.
const (
	cacheAsset      = "private, max-age=31536000, immutable"
	cacheRevalidate = "private, no-cache"
)

// contentTypes are the content types of the files of a build, by extension. The table of the
// machine is not used, because it differs between machines. compress reports whether such
// files are worth compressing.
var contentTypes = map[string]struct {
	name     string
	compress bool
}{
	".html": {"text/html; charset=utf-8", true}, ".js": {"text/javascript; charset=utf-8", true},
	".css": {"text/css; charset=utf-8", true},
	".svg": {"image/svg+xml", true}, ".json": {"application/json; charset=utf-8", true},
	".webmanifest": {"application/manifest+json", true},
	".txt":         {"text/plain; charset=utf-8", true}, ".map": {"application/json; charset=utf-8", true},
	".png": {"image/png", false}, ".ico": {"image/x-icon", false}, ".woff2": {"font/woff2", false},
	".webp": {"image/webp", false},
}

// webUI contains the files of the UI. They are read once, because they are part of the binary.
type webUI struct{ files map[string]*asset.File }

// readWebUI reads the files. There are none if the UI was not built.
func readWebUI(files fs.FS) (*webUI, error) {
	p := &webUI{files: map[string]*asset.File{}}
	if files == nil {
		return p, nil
	}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		p.files[name] = newFile(name, content)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the page's files: %w", err)
	}
	return p, nil
}

func newFile(name string, content []byte) *asset.File {
	kind, known := contentTypes[path.Ext(name)]
	if !known {
		kind.name = "application/octet-stream"
	}
	cache := cacheRevalidate
	if strings.HasPrefix(name, assetFolder) {
		cache = cacheAsset
	}
	return asset.New(content, kind.name, cache, kind.compress)
}

// serve serves a file or, if there is none, index.html, because the UI routes the paths below
// /admin itself.
func (p *webUI) serve(w http.ResponseWriter, r *http.Request) error {
	index := p.files[indexFile]
	if index == nil {
		notBuilt(w)
		return nil
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, uiPath), "/")
	f, ok := p.files[name]
	switch {
	case ok:
	case strings.HasPrefix(name, assetFolder): // of another build; index.html would not be a valid script
		return fault.New(fault.NotFound, "No such path")
	default:
		f = index
	}
	f.Serve(w, r)
	return nil
}

// notBuilt answers that the UI is not in this binary.
func notBuilt(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotImplemented)
	_, _ = w.Write([]byte(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Livegraph</title></head>
<body><h1>The administration page is not in this build</h1>
<p>Build the binary with <code>make build</code>, which needs Node.js 20 or newer, and start it again.</p>
</body></html>
`))
}
