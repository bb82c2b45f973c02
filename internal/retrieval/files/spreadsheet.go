package files

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/livegraph/livegraph/internal/retrieval/extract"
)

const xlsxMain = "xl/workbook.xml"

// maxSharedText is the maximum size of the texts that cells share. Almost all of them are in a cell, so
// a file with more has too much text.
const maxSharedText = 4 * extract.MaxText

// readXLSX reads the sheets of a workbook: each row is a line, with tabs between its cells. The name of
// a sheet is a heading.
func readXLSX(a *archive, b *builder) error {
	targets, err := a.related(xlsxMain)
	if err != nil {
		return err
	}
	s := &sheetReader{builder: b}
	if err := s.readShared(a); err != nil {
		return err
	}
	if err := s.readStyles(a); err != nil {
		return err
	}
	type sheet struct{ name, part string }
	var sheets []sheet
	err = a.walk(xlsxMain, visitor{start: func(e element) bool {
		switch e.Name.Local {
		case "sheet":
			sheets = append(sheets, sheet{e.attr("name"), targets[relationID(e)]})
		case "workbookPr":
			s.since1904 = e.attr("date1904") == "1" || e.attr("date1904") == "true"
		}
		return true
	}})
	for _, sheet := range sheets {
		if err != nil {
			return err
		}
		b.beginPage()
		b.beginHeading()
		b.add(sheet.name)
		b.endHeading()
		err = a.walk(sheet.part, visitor{start: s.start, end: s.end, text: s.chars})
	}
	return err
}

// sheetReader reads the cells of sheets.
type sheetReader struct {
	*builder
	shared    []string // texts to which cells refer by index
	dates     []bool   // by style: numbers are dates
	since1904 bool

	kind   string // of the cell
	style  string
	value  strings.Builder
	inside bool // the value of a cell
}

// readShared reads the shared texts, without the pronunciation of Japanese names.
func (s *sheetReader) readShared(a *archive) error {
	var text strings.Builder
	inText, size := false, 0
	err := a.walk("xl/sharedStrings.xml", visitor{
		start: func(e element) bool {
			inText = e.Name.Local == "t"
			return e.Name.Local != "rPh"
		},
		end: func(name string) {
			if inText = false; name == "si" {
				s.shared = append(s.shared, text.String())
				text.Reset()
			}
		},
		text: func(part string) {
			if size += len(part); inText && size <= maxSharedText {
				text.WriteString(part)
			}
		},
	})
	if err == nil && size > maxSharedText {
		return tooMuchText
	}
	return err
}

// readStyles finds the styles that show numbers as dates.
func (s *sheetReader) readStyles(a *archive) error {
	custom := map[string]bool{}
	inCells := false
	return a.walk("xl/styles.xml", visitor{
		start: func(e element) bool {
			switch e.Name.Local {
			case "numFmt":
				custom[e.attr("numFmtId")] = isDateFormat(e.attr("formatCode"))
			case "cellXfs":
				inCells = true
			case "xf":
				if id := e.attr("numFmtId"); inCells {
					number, _ := strconv.Atoi(id)
					builtIn := number >= 14 && number <= 22 || number >= 45 && number <= 47
					s.dates = append(s.dates, builtIn || custom[id])
				}
			}
			return true
		},
		end: func(name string) { inCells = inCells && name != "cellXfs" },
	})
}

// isDateFormat reports whether a format has letters of a date outside of quotes and brackets.
func isDateFormat(code string) bool {
	quoted := false
	for i, r := range strings.ToLower(code) {
		switch {
		case r == '"' || r == '[' || r == ']':
			quoted = !quoted
		case quoted || i > 0 && code[i-1] == '\\':
		case strings.ContainsRune("ymdhs", r):
			return true
		}
	}
	return false
}

func (s *sheetReader) start(e element) bool {
	switch e.Name.Local {
	case "c":
		s.kind, s.style = e.attr("t"), e.attr("s")
		s.value.Reset()
	case "v", "t":
		s.inside = true
	case "f", "rPh", "extLst":
		return false
	}
	return true
}

func (s *sheetReader) end(name string) {
	switch name {
	case "v", "t":
		s.inside = false
	case "c":
		if text := s.cell(); text != "" {
			s.separate('\t')
			s.add(strings.Join(strings.Fields(text), " "))
		}
	case "row":
		s.breakLine()
	}
}

func (s *sheetReader) chars(text string) {
	if s.inside && s.value.Len() <= extract.MaxText {
		s.value.WriteString(text)
	}
}

// cell returns the text of the cell that was read.
func (s *sheetReader) cell() string {
	value := s.value.String()
	switch s.kind {
	case "s":
		if i, err := strconv.Atoi(value); err == nil && i >= 0 && i < len(s.shared) {
			return s.shared[i]
		}
		return ""
	case "b":
		return map[string]string{"0": "FALSE", "1": "TRUE"}[value]
	case "e":
		return ""
	case "", "n":
		number, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsInf(number, 0) {
			return value
		}
		if style, err := strconv.Atoi(s.style); err == nil && style >= 0 && style < len(s.dates) && s.dates[style] {
			return s.date(number)
		}
		return strconv.FormatFloat(number, 'g', 15, 64) // the digits that Excel shows
	}
	return value
}

// date returns the date and time that a number of days means.
func (s *sheetReader) date(days float64) string {
	const maxDays = 2_958_466 // the year 10000
	if days < 0 || days >= maxDays {
		return strconv.FormatFloat(days, 'g', 15, 64)
	}
	// Excel counts a 29 February 1900, so its days are right from March 1900 on.
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if s.since1904 {
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	whole, part := math.Modf(days)
	t := epoch.AddDate(0, 0, int(whole)).Add(time.Duration(math.Round(part*24*60*60)) * time.Second)
	switch {
	case days < 1:
		return t.Format(time.TimeOnly)
	case part == 0:
		return t.Format(time.DateOnly)
	}
	return t.Format(time.DateTime)
}
