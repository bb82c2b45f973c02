package documents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/livegraph/livegraph/internal/graph/document"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/files"
)

// maxFilesText is the maximum size of the text in all files of a request, in bytes. It bounds the memory
// of files that are small because they are compressed.
const maxFilesText = 8 << 20

// readFiles reads the files of the documents that are new or have changed, before any document is
// written. Unchanged files are not read, because that takes time.
func (p *putting) readFiles(ctx context.Context, list []*content) error {
	withFile := slices.DeleteFunc(slices.Clone(list), func(d *content) bool { return d.data == nil })
	ctx, cancel := context.WithTimeout(ctx, p.QueryTimeout)
	defer cancel()
	size := 0
	for group := range slices.Chunk(withFile, submitted) {
		states := make(map[string]document.State, len(group))
		if err := p.addDocuments(ctx, states, externalIDs(group)); err != nil {
			return err
		}
		for _, d := range group {
			if d.isStored(states[d.ExternalID]) {
				continue
			}
			if err := p.readFile(ctx, d); err != nil {
				return err
			}
			if size += len(d.read.Body); size > maxFilesText {
				return fault.Field(fault.Invalid, "documents", fmt.Sprintf(
					"have more than %d bytes of text in their files; send fewer in a request", maxFilesText))
			}
		}
	}
	return nil
}

// readFile reads the file of a document, unless it was read already or there is none.
func (p *putting) readFile(ctx context.Context, d *content) error {
	if d.data == nil || d.read != nil {
		return nil
	}
	text, err := p.Files.Read(ctx, d.ContentType, d.data)
	var reason files.Unreadable
	switch {
	case errors.As(err, &reason):
		return fault.Field(fault.Invalid, fmt.Sprintf("documents[%d].data", d.index), string(reason)).Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Unavailable, "Too many files are being read at this moment").After(time.Second)
	case err != nil:
		return fmt.Errorf("reading a file of type %s: %w", d.ContentType, err)
	}
	d.read = &text
	return nil
}
