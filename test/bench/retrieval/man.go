package retrieval

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	manualQuestions = 300
	maxManualText   = 600 // characters of a passage
	minSummaryWords = 3
)

// manualFolders have the pages in English about programs, files and overviews. Those about functions are similar to
// each other.
var manualFolders = []string{"man1", "man5", "man7", "man8"}

// manualPage is a page with what the set requires.
type manualPage struct {
	title      string   // ls(1)
	names      []string // in the form of the title: all that the section NAME lists
	summary    string   // the rest of the section NAME
	text       string   // the beginning of DESCRIPTION
	references []string // in SEE ALSO, in the form of titles
}

// Man returns the set of the manual pages in a folder such as /usr/share/man: those with the sections NAME, DESCRIPTION
// and SEE ALSO. A passage is the beginning of DESCRIPTION, a question is the summary of a page in NAME, and a mention
// is a reference in SEE ALSO. The error is fs.ErrNotExist if there are no such pages.
func Man(dir string) (*Set, error) {
	var pages []manualPage
	for _, folder := range manualFolders {
		files, err := filepath.Glob(filepath.Join(dir, folder, "*")) // sorted
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			page, ok, err := readManualPage(path)
			if err != nil {
				return nil, fmt.Errorf("reading the manual page %s: %w", path, err)
			}
			if ok {
				pages = append(pages, page)
			}
		}
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("no manual pages in %s: %w", dir, fs.ErrNotExist)
	}
	return manualSet(pages), nil
}

// readManualPage reads a page, which may be compressed. It returns false if a section is missing, and for a link to
// another page.
func readManualPage(path string) (page manualPage, ok bool, err error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return page, false, err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return page, false, err
	}
	name, compressed := strings.CutSuffix(filepath.Base(path), ".gz")
	if compressed {
		plain, err := gzip.NewReader(bytes.NewReader(source))
		if err != nil {
			return page, false, err
		}
		if source, err = io.ReadAll(plain); err != nil {
			return page, false, err
		}
	}
	page, ok = parseManualPage(name, strings.ToValidUTF8(string(source), "\uFFFD"))
	return page, ok, nil
}

var (
	summaryDash = regexp.MustCompile(` [-–—]+ `)
	reference   = regexp.MustCompile(`[\w.+:@\[-]+\([1-8][a-z]*\)`)
)

// parseManualPage parses a page, whose name is that of its file without .gz, such as ls.1.
func parseManualPage(name, source string) (page manualPage, ok bool) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return page, false
	}
	if !strings.Contains(source, "SEE ALSO") {
		return page, false // thousands of pages need no parsing
	}
	section := "(" + name[at+1:] + ")"
	sections := readRoff(source)
	head := summaryDash.Split(sections["NAME"], 2)
	description, also := sections["DESCRIPTION"], sections["SEE ALSO"]
	if len(head) < 2 || description == "" || also == "" {
		return page, false
	}
	page = manualPage{title: name[:at] + section, summary: head[1], references: reference.FindAllString(also, -1)}
	for other := range strings.SplitSeq(head[0], ",") {
		page.names = append(page.names, strings.TrimSpace(other)+section)
	}
	characters := []rune(description)
	page.text = string(characters[:min(len(characters), maxManualText)])
	return page, true
}

// manualSet returns the set of pages. A summary is a question if no other page has it.
func manualSet(pages []manualPage) *Set {
	set, indexes, summaries := &Set{}, map[string]int{}, map[string]int{}
	for i, p := range pages {
		set.Passages = append(set.Passages, Passage{Title: p.title, Text: p.text})
		indexes[p.title] = i
		summaries[p.summary]++
	}
	for i, p := range pages {
		for _, name := range p.names {
			if _, known := indexes[name]; !known {
				indexes[name] = i
			}
		}
	}
	for i, p := range pages {
		mentioned := map[int]bool{i: true}
		for _, name := range p.references {
			if to, known := indexes[name]; known && !mentioned[to] {
				mentioned[to] = true
				set.Mentions = append(set.Mentions, [2]int{i, to})
			}
		}
		if summaries[p.summary] == 1 && len(strings.Fields(p.summary)) >= minSummaryWords {
			set.Questions = append(set.Questions, Question{Question: p.summary, Gold: []string{p.title}})
		}
	}
	set.Questions = spread(set.Questions, manualQuestions)
	return set
}
