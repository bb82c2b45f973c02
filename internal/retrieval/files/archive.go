package files

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	maxEntries  = 10_000   // of an archive
	maxUnpacked = 64 << 20 // bytes of all parts that are read
	maxDepth    = 256      // nested elements
	// ctxTokens is the number of tokens after which a context is checked.
	ctxTokens = 4096
)

const (
	notOffice   Unreadable = "is not of the type that contentType names, or is damaged"
	encrypted   Unreadable = "is protected by a password"
	tooUnpacked Unreadable = "is larger than 64 MiB when it is unpacked"
	tooNested   Unreadable = "has more than 256 nested elements"
)

// compoundFile is the signature of the container in which Office encrypts its files.
const compoundFile = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// archive is an Office file: a ZIP archive whose parts are XML.
type archive struct {
	parts map[string]*zip.File
	left  int64        // bytes that may still be unpacked
	ended func() error // returns the error of the context of the call that reads the archive
}

func openArchive(ctx context.Context, data []byte) (*archive, error) {
	if bytes.HasPrefix(data, []byte(compoundFile)) {
		return nil, encrypted
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(z.File) > maxEntries {
		return nil, notOffice
	}
	a := &archive{parts: make(map[string]*zip.File, len(z.File)), left: maxUnpacked, ended: ctx.Err}
	for _, f := range z.File {
		a.parts[strings.TrimPrefix(f.Name, "/")] = f
	}
	return a, nil
}

// has reports whether the archive has a part.
func (a *archive) has(name string) bool { return a.parts[name] != nil }

// element is a start tag. Names are without namespace: the formats have no two elements of one name
// that differ in what is read of them.
type element struct{ xml.StartElement }

// attr returns the value of an attribute, "" if there is none.
func (e element) attr(name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// visitor reads the tokens of a part. Any of its functions may be nil.
type visitor struct {
	// start returns whether the element is read. Otherwise it is skipped with all that it contains.
	start func(e element) bool
	end   func(name string)
	text  func(text string)
}

// walk reads a part token by token. A part that does not exist is empty.
func (a *archive) walk(name string, v visitor) error {
	f := a.parts[name]
	if f == nil {
		return nil
	}
	content, err := f.Open()
	if err != nil {
		return notOffice
	}
	defer func() { _ = content.Close() }()
	err = a.tokens(xml.NewDecoder(&boundedReader{content, &a.left}), v)
	var reason Unreadable
	switch {
	case err == nil || errors.As(err, &reason) || a.ended() != nil:
		return err
	default:
		return fmt.Errorf("%w (%s: %w)", notOffice, name, err)
	}
}

func (a *archive) tokens(d *xml.Decoder, v visitor) error {
	depth, skipped := 0, 0 // skipped is the depth of the element that is skipped; 0: none
	for n := 0; ; n++ {
		if n%ctxTokens == 0 && a.ended() != nil {
			return a.ended()
		}
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return tooNested
			}
			if skipped == 0 && v.start != nil && !v.start(element{t}) {
				skipped = depth
			}
		case xml.EndElement:
			if skipped == 0 && v.end != nil {
				v.end(t.Name.Local)
			}
			if skipped == depth {
				skipped = 0
			}
			depth--
		case xml.CharData:
			if skipped == 0 && v.text != nil {
				v.text(string(t))
			}
		}
	}
}

// boundedReader fails with tooUnpacked when more than left bytes are read.
type boundedReader struct {
	io.Reader
	left *int64
}

// Read implements io.Reader.
func (r *boundedReader) Read(p []byte) (int, error) {
	if *r.left <= 0 {
		return 0, tooUnpacked
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), *r.left)])
	*r.left -= int64(n)
	return n, err
}

// related returns the names of the parts to which a part refers, by the ids of the references.
func (a *archive) related(name string) (map[string]string, error) {
	targets := map[string]string{}
	dir := path.Dir(name)
	err := a.walk(path.Join(dir, "_rels", path.Base(name)+".rels"), visitor{start: func(e element) bool {
		if e.Name.Local == "Relationship" && e.attr("TargetMode") != "External" {
			target := e.attr("Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			targets[e.attr("Id")] = strings.TrimPrefix(path.Clean(target), "/")
		}
		return true
	}})
	return targets, err
}

// title returns the text of the element title of a part with metadata.
func (a *archive) title(name string) (string, error) {
	var title strings.Builder
	inTitle := false
	err := a.walk(name, visitor{
		start: func(e element) bool { inTitle = inTitle || e.Name.Local == "title"; return true },
		end:   func(name string) { inTitle = inTitle && name != "title" },
		text: func(text string) {
			if inTitle && title.Len() < 1<<10 {
				title.WriteString(text)
			}
		},
	})
	return title.String(), err
}
