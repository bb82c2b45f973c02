package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	// pdfMemoryPages is the memory limit of a PDFium: pages of 64 KiB, 128 MiB in all.
	pdfMemoryPages = 2048
	maxPDFPages    = 5000
	maxPageChars   = 1 << 20
)

// Reasons for which PDFium reads no text.
const (
	notPDF       Unreadable = "is not a PDF file, or is damaged"
	protectedPDF Unreadable = "is protected by a password"
	tooManyPages Unreadable = "has more than 5000 pages; split it"
)

// pdfReader reads PDF files. It has PDFium in memory while it is used, and for idleTimeout after.
type pdfReader struct {
	options  Options
	compiled func() wazero.CompilationCache // outlives the pools

	mu    sync.Mutex
	pool  pdfium.Pool // nil: not loaded
	users int
	idle  *time.Timer // unloads the pool; nil: there are users, or no pool
}

func newPDFReader(o Options) *pdfReader {
	return &pdfReader{options: o, compiled: sync.OnceValue(func() wazero.CompilationCache {
		if o.CacheDir != "" {
			if cache, err := wazero.NewCompilationCacheWithDir(o.CacheDir); err == nil {
				return cache
			}
		}
		return wazero.NewCompilationCache() // in memory, for example on a read-only disk
	})}
}

// read adds the text of a PDF file to b. Each file is read by a new instance of PDFium, so a hostile
// file cannot change how another one is read.
func (p *pdfReader) read(ctx context.Context, data []byte, b *builder) error {
	pool, err := p.acquire()
	if err != nil {
		return err
	}
	defer p.release()
	instance, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return fmt.Errorf("starting PDFium: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = instance.Kill() }) // ends the call that is running
	err = readPDF(ctx, instance, data, b)
	if stop() {
		_ = instance.Close() // it releases only memory
	}
	switch {
	case err == nil:
		return b.err()
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, pdfiumerrors.ErrPassword) || errors.Is(err, pdfiumerrors.ErrSecurity):
		return protectedPDF
	}
	var reason Unreadable
	if errors.As(err, &reason) {
		return reason
	}
	return fmt.Errorf("%w (PDFium: %w)", notPDF, err)
}

// acquire returns the pool, and loads it if necessary.
func (p *pdfReader) acquire() (pdfium.Pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle != nil {
		p.idle.Stop()
		p.idle = nil
	}
	if p.pool == nil {
		pool, err := loadPDFium(p.options.Concurrent, p.compiled())
		if err != nil {
			return nil, fmt.Errorf("loading PDFium: %w", err)
		}
		p.pool = pool
	}
	p.users++
	return p.pool, nil
}

func (p *pdfReader) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 {
		p.idle = time.AfterFunc(p.options.IdleTimeout, func() { _ = p.close() })
	}
}

// close unloads PDFium, unless it is used.
func (p *pdfReader) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users > 0 || p.pool == nil {
		return nil
	}
	pool := p.pool
	p.pool, p.idle = nil, nil
	return pool.Close()
}

// loadPDFium compiles PDFium, or loads it from the cache. It has no files and no output.
func loadPDFium(concurrent int, compiled wazero.CompilationCache) (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(pdfMemoryPages).WithCloseOnContextDone(true).WithCompilationCache(compiled)
	return webassembly.Init(webassembly.Config{
		MaxTotal: concurrent, MaxIdle: 0, MinIdle: 0, RuntimeConfig: config, FSConfig: wazero.NewFSConfig(),
		Stdout: io.Discard, Stderr: io.Discard,
	})
}

// readPDF adds the pages of a file, with the titles of its outline as headings.
func readPDF(ctx context.Context, p pdfium.Pdfium, data []byte, b *builder) error {
	opened, err := p.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return err
	}
	document := opened.Document
	pages, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: document})
	if err != nil {
		return err
	}
	if pages.PageCount > maxPDFPages {
		return tooManyPages
	}
	b.title = pdfTitle(p, document)
	outline := outlineOf(p, document)
	for i := 0; i < pages.PageCount && !b.full; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := pageText(p, document, i)
		if err != nil {
			return fmt.Errorf("page %d: %w", i+1, err)
		}
		b.beginPage()
		addPage(b, text, outline[i])
	}
	return nil
}

// pdfTitle returns the title in the metadata, "" if there is none that was meant to be one.
func pdfTitle(p pdfium.Pdfium, document references.FPDF_DOCUMENT) string {
	found, err := p.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: document, Tag: "Title"})
	if err != nil {
		return ""
	}
	// Word writes the name of the file after its own.
	title := strings.TrimSpace(strings.TrimPrefix(found.Value, "Microsoft Word - "))
	if strings.EqualFold(title, "untitled") {
		return ""
	}
	return title
}

// pageText returns the text of a page in lines that end with CR LF.
func pageText(p pdfium.Pdfium, document references.FPDF_DOCUMENT, index int) (string, error) {
	page, err := p.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: index})
	if err != nil {
		return "", err
	}
	defer func() { _, _ = p.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page.Page}) }()
	text, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &page.Page}})
	if err != nil {
		return "", err
	}
	defer func() { _, _ = p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage}) }()
	chars, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil || chars.Count <= 0 {
		return "", err
	}
	got, err := p.FPDFText_GetText(&requests.FPDFText_GetText{
		TextPage: text.TextPage, Count: min(chars.Count, maxPageChars),
	})
	if err != nil {
		return "", err
	}
	return got.Text, nil
}
