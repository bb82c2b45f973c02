package tenant

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/livegraph/livegraph/internal/app/output"
	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/internal/platform/sleep"
	"github.com/livegraph/livegraph/internal/retrieval/extract"
	"github.com/livegraph/livegraph/internal/retrieval/files"
)

// DocumentsCmd groups the commands on documents.
type DocumentsCmd struct {
	List   DocumentsListCmd   `cmd:"" help:"List a workspace's documents, oldest first."`
	Import DocumentsImportCmd `cmd:"" help:"Create or update documents from the text, Markdown, HTML, PDF and Office files of a directory."`
}

// DocumentsImportCmd imports a directory.
type DocumentsImportCmd struct {
	tenant
	Dir    string   `arg:"" help:"The directory. Hidden files and symbolic links are ignored." type:"existingdir"`
	Prefix string   `help:"Begin the external ids, which are the paths below the directory, with this text." placeholder:"TEXT"`
	Tag    []string `help:"Add this tag to the documents." placeholder:"TAG"`
}

const (
	// importDocuments and importBytes are the numbers of documents and of bytes of content at which a
	// request is full.
	importDocuments = 200
	importBytes     = 2 << 20
	// importedAtOnce is the number of PDF and Office files in a request: the API takes time to read them.
	importedAtOnce = 8
	// maxImportText and maxImportFile are the largest text and the largest file that the API accepts.
	maxImportText = 4 << 20
	maxImportFile = 16 << 20
	// importRetryTimeout bounds the attempts to send a request.
	importRetryTimeout  = 2 * time.Minute
	importRetryPause    = time.Second
	importReportEvery   = 2 * time.Second
	maxImportedMessages = 100 // skipped files that are listed
)

// mediaTypes has the media type of each extension.
var mediaTypes = map[string]string{
	".txt": extract.Plain, ".text": extract.Plain, ".md": extract.Markdown, ".markdown": extract.Markdown,
	".html": extract.HTML, ".htm": extract.HTML,
	".pdf": files.PDF, ".docx": files.DOCX, ".pptx": files.PPTX, ".xlsx": files.XLSX,
	".odt": files.ODT, ".odp": files.ODP, ".ods": files.ODS,
}

// importedDocument is a document in a request.
type importedDocument struct {
	ExternalID  string   `json:"externalId"`
	Title       string   `json:"title,omitempty"`
	Text        *string  `json:"text,omitempty"`
	Data        []byte   `json:"data,omitempty"` // of a file, as base64
	ContentType string   `json:"contentType"`
	Tags        []string `json:"tags,omitempty"`
}

// importedFiles is the result of an import.
type importedFiles struct {
	Documents int           `json:"documents"`
	Created   int           `json:"created"`
	Updated   int           `json:"updated"`
	Unchanged int           `json:"unchanged"`
	Skipped   int           `json:"skipped"`
	Messages  []skippedFile `json:"messages"` // of the first skipped files
}

type skippedFile struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// errInvalidTag is the error if the API refuses the tags.
var errInvalidTag = errors.New("--tag")

// documentImport is a running import.
type documentImport struct {
	*DocumentsImportCmd
	session  *session
	out      *output.Writer
	result   importedFiles
	pending  []importedDocument
	bytes    int
	files    int // pending documents with a file
	reported time.Time
}

// Run imports the files in the order of their paths. A document that is unchanged is not written, so
// an interrupted import is continued by running it again.
func (c *DocumentsImportCmd) Run(ctx context.Context, out *output.Writer) error {
	return c.withGraphRoutes(ctx, func(v *session) error {
		i := &documentImport{
			DocumentsImportCmd: c, session: v, out: out, reported: time.Now(),
			result: importedFiles{Messages: []skippedFile{}},
		}
		err := i.walk(ctx)
		switch {
		case errors.Is(err, errInvalidTag):
			return err
		case err != nil:
			return fmt.Errorf("%w; run the command again to continue", err)
		}
		return i.report()
	})
}

func (i *documentImport) walk(ctx context.Context) error {
	root, err := os.OpenRoot(i.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			i.skip(path, err.Error())
			return nil
		case path != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		media, known := mediaTypes[strings.ToLower(filepath.Ext(path))]
		if !known || !entry.Type().IsRegular() {
			return nil
		}
		return i.add(ctx, root, path, media)
	})
	if err != nil {
		return err
	}
	return i.send(ctx)
}

// add reads a file, and sends a request when it is full.
func (i *documentImport) add(ctx context.Context, root *os.Root, path, media string) error {
	limit := int64(maxImportText)
	if files.IsType(media) {
		limit = maxImportFile
	}
	info, err := root.Stat(path)
	if err == nil && info.Size() > limit {
		err = fmt.Errorf("is larger than %d bytes", limit)
	}
	var content []byte
	if err == nil {
		content, err = root.ReadFile(path)
	}
	d := importedDocument{ExternalID: i.Prefix + path, ContentType: media, Tags: i.Tag}
	switch text := string(content); {
	case err != nil:
		i.skip(path, err.Error())
		return nil
	case files.IsType(media):
		d.Data = content
		i.files++
	case !utf8.Valid(content) || strings.ContainsRune(text, 0):
		i.skip(path, "is not text in UTF-8")
		return nil
	default:
		d.Text = &text
	}
	if media == extract.Plain {
		d.Title = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	i.pending, i.bytes = append(i.pending, d), i.bytes+len(content)
	if len(i.pending) < importDocuments && i.files < importedAtOnce && i.bytes < importBytes {
		return nil
	}
	return i.send(ctx)
}

// send sends the pending documents. It leaves out those that the API refuses. A refused file is sent once
// more alone: that it takes too long to read may be due to the files before it.
func (i *documentImport) send(ctx context.Context) error {
	var alone []importedDocument
	for {
		if len(i.pending) == 0 && len(alone) > 0 {
			i.pending, alone = append(i.pending, alone[0]), alone[1:]
		}
		if len(i.pending) == 0 {
			break
		}
		got, err := i.try(ctx)
		if index, reason, refused := refusedDocument(err); refused && index < len(i.pending) {
			if strings.HasPrefix(reason, "tags") { // all documents have the same ones
				return fmt.Errorf("%w: %s", errInvalidTag, reason)
			}
			if d := i.pending[index]; d.Data != nil && len(i.pending) > 1 {
				alone = append(alone, d)
			} else {
				i.skip(d.ExternalID, reason)
			}
			i.pending = append(i.pending[:index:index], i.pending[index+1:]...)
			continue
		}
		if err != nil {
			return err
		}
		answer, err := decode[struct {
			Data struct {
				Documents []struct{ Status document.Outcome }
			}
		}](got)
		if err != nil {
			return err
		}
		for _, d := range answer.Data.Documents {
			i.count(d.Status)
		}
		i.pending = i.pending[:0]
	}
	i.pending, i.bytes, i.files = i.pending[:0], 0, 0
	if !i.JSON && time.Since(i.reported) > importReportEvery {
		i.reported = time.Now()
		_, err := fmt.Fprintln(i.out, i.summary())
		return err
	}
	return nil
}

func (i *documentImport) count(status document.Outcome) {
	i.result.Documents++
	switch status {
	case document.Created:
		i.result.Created++
	case document.Updated:
		i.result.Updated++
	default:
		i.result.Unchanged++
	}
}

// try sends a request, again and again while an engine is unavailable. That is safe: a document that
// was written is unchanged.
func (i *documentImport) try(ctx context.Context) (answer, error) {
	deadline := time.Now().Add(importRetryTimeout)
	for {
		got, err := i.session.post(ctx, "/api/documents", map[string]any{"documents": i.pending})
		passing := fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Timeout) || fault.Is(err, fault.BadGateway)
		if !passing || time.Now().After(deadline) {
			return got, err
		}
		if !sleep.For(ctx, importRetryPause) {
			return got, ctx.Err()
		}
	}
}

// refusedDocument returns the index of the document that an error is about, and the reason.
func refusedDocument(err error) (index int, reason string, refused bool) {
	var failure *fault.Error
	if !errors.As(err, &failure) || failure.Kind != fault.Invalid {
		return 0, "", false
	}
	field, _ := failure.Details["field"].(string)
	reason, _ = failure.Details["reason"].(string)
	_, scanErr := fmt.Sscanf(field, "documents[%d]", &index)
	_, member, _ := strings.Cut(field, "].")
	return index, strings.TrimSpace(member + " " + reason), scanErr == nil && index >= 0
}

func (i *documentImport) skip(file, reason string) {
	if i.result.Skipped++; len(i.result.Messages) < maxImportedMessages {
		i.result.Messages = append(i.result.Messages, skippedFile{file, reason})
		if !i.JSON {
			_, _ = fmt.Fprintln(i.out, output.Printable("skipped "+file+": "+reason))
		}
	}
}

func (i *documentImport) summary() string {
	r := &i.result
	return fmt.Sprintf("%s: %d created, %d updated, %d unchanged, %d skipped",
		plural.Count(r.Documents, "document"), r.Created, r.Updated, r.Unchanged, r.Skipped)
}

func (i *documentImport) report() error {
	if i.JSON {
		return output.JSON(i.out, i.result)
	}
	_, err := fmt.Fprintln(i.out, i.summary())
	return err
}
