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
	// assetFolder has the files whose names change with what is in them.
	assetFolder = "assets/"
)

// What may be kept, and where. The page is for who is in front of it: no proxy keeps any
// of it.
const (
	cacheAsset = "private, max-age=31536000, immutable"
	cachePage  = "private, no-cache"
)

// contentTypes are those of the files that a build makes, by their names' ends; not from
// the machine's table, which is another one everywhere. The flag reports whether it is
// worth compressing.
var contentTypes = map[string]struct {
	name string
	pack bool
}{
	".html": {"text/html; charset=utf-8", true}, ".js": {"text/javascript; charset=utf-8", true},
	".css": {"text/css; charset=utf-8", true},
	".svg": {"image/svg+xml", true}, ".json": {"application/json; charset=utf-8", true},
	".webmanifest": {"application/manifest+json", true},
	".txt":         {"text/plain; charset=utf-8", true}, ".map": {"application/json; charset=utf-8", true},
	".png": {"image/png", false}, ".ico": {"image/x-icon", false}, ".woff2": {"font/woff2", false},
	".webp": {"image/webp", false},
}

// page is the files of the page. It is read once: they are part of the binary.
type page struct{ files map[string]*asset.File }

// readPage reads the files; none without a build.
func readPage(files fs.FS) (*page, error) {
	p := &page{files: map[string]*asset.File{}}
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
	cache := cachePage
	if strings.HasPrefix(name, assetFolder) {
		cache = cacheAsset
	}
	return asset.New(content, kind.name, cache, kind.pack)
}

// serve answers with a file, or, where there is none, with the page: what follows /admin
// is the page's own to make sense of.
func (p *page) serve(w http.ResponseWriter, r *http.Request) error {
	index := p.files[indexFile]
	if index == nil {
		notBuilt(w)
		return nil
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, pagePath), "/")
	f, ok := p.files[name]
	switch {
	case ok:
	case strings.HasPrefix(name, assetFolder): // of another build: the page would not be a script
		return fault.New(fault.NotFound, "No such path")
	default:
		f = index
	}
	f.Serve(w, r)
	return nil
}

// notBuilt reports that the page's files are not in this binary.
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
