package retrieval

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextOfManualPagesIsPlain(t *testing.T) {
	sections := readRoff(`.\" Copyright
.de URL
\fI\\$2\fP not a text
..
.TH LS 1
.SH "NAME"
ls, dir \- list \fIdirectory\f[R] contents
.SH Description
.PP
List about the "FILEs" (\fB\-\-all\fP), it\(aqs\ \s-1GNU\s0\&.\"comment
.BR see " (1), " also \" comment
.B two words
.IR "a ""quoted"" word" ,
.TS
l l.
.TE
.sp 2
a\[em]b \h'2'c\e
'\" t
.if n \{\
.\}
.SH SEE ALSO
.BR cp (1)
`)
	require.Equal(t, "ls, dir - list directory contents", sections["NAME"])
	require.Equal(
		t, `List about the "FILEs" (--all), it's GNU. see (1), also two words a "quoted" word, a-b c\`,
		sections["DESCRIPTION"],
	)
	require.Equal(t, "cp(1)", sections["SEE ALSO"])
}

// manual returns a manual page.
func manual(name, text, also string) string {
	return ".TH X 1\n.SH NAME\n" + name + "\n.SH DESCRIPTION\n" + text + "\n.SH SEE ALSO\n" + also + "\n"
}

func writeManual(t *testing.T, dir, path, source string) {
	t.Helper()
	path = filepath.Join(dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	content := []byte(source)
	if filepath.Ext(path) == ".gz" {
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		_, err := w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		content = compressed.Bytes()
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

func TestManualPagesAreASet(t *testing.T) {
	dir := t.TempDir()
	_, err := Man(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	long := string(bytes.Repeat([]byte("ä"), maxManualText+1))
	writeManual(t, dir, "man1/ls.1.gz", manual(
		`ls \- list all files`, "Lists.", `.BR cp (1), ls (1), mv (1), copy (1), passwd (5)`,
	))
	writeManual(t, dir, "man1/cp.1", manual(`cp, copy \- copy some files`, long, `\fBls\fR(1) none(1)`))
	writeManual(t, dir, "man5/passwd.5", manual(`passwd \- the password file`, "Has users.", `passwd(1), copy(1)`))
	writeManual(t, dir, "man8/a.8", manual(`a \- the same summary`, "A.", `x(1)`))
	writeManual(t, dir, "man8/b.8", manual(`b \- the same summary`, "B.", `x(1)`))
	writeManual(t, dir, "man8/c.8", manual(`c \- short one`, "C.", `x(1)`))
	writeManual(t, dir, "man3/read.3", manual(`read \- a function of C`, "Reads.", `x(1)`))
	writeManual(t, dir, "man1/alone.1", ".SH NAME\nalone \\- no other section\n.SH DESCRIPTION\nAlone.\n")
	writeManual(t, dir, "man1/so.1", ".so man1/ls.1\n")
	require.NoError(t, os.Symlink("cp.1", filepath.Join(dir, "man1", "link.1")))

	set, err := Man(dir)
	require.NoError(t, err)
	require.Equal(t, []Passage{
		{"cp(1)", long[:2*maxManualText]}, {"ls(1)", "Lists."}, {"passwd(5)", "Has users."}, {"a(8)", "A."}, {"b(8)", "B."},
		{"c(8)", "C."},
	}, set.Passages)
	require.Equal(t, [][2]int{{0, 1}, {1, 0}, {1, 2}, {2, 0}}, set.Mentions)
	require.Equal(t, []Question{
		{"copy some files", []string{"cp(1)"}}, {"list all files", []string{"ls(1)"}},
		{"the password file", []string{"passwd(5)"}},
	}, set.Questions)

	writeManual(t, dir, "man1/broken.1", "")
	require.NoError(t, os.Rename(filepath.Join(dir, "man1", "broken.1"), filepath.Join(dir, "man1", "broken.1.gz")))
	_, err = Man(dir)
	require.ErrorContains(t, err, "broken.1.gz")
}

func TestMessagesOfTheCompilerAreASet(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadMessages(dir, "de")
	require.ErrorIs(t, err, fs.ErrNotExist)
	writeManual(t, dir, "lib/typescript.js", `var Diagnostics = {
  A: diag(1006, 1 /* Error */, "A_file_1006", "A file cannot have a reference to \"itself\", not even one."),
  B: diag(1005, 1 /* Error */, "_0_expected_1005", "'{0}' expected, which is not a complete sentence."),
  C: diag(7000, 3 /* Message */, "Short_7000", "Short message."),
  D: diag(1009, 1 /* Error */, "Trailing_comma_1009", "Trailing comma not allowed in this place of it.", true),
  E: diag(1010, 1 /* Error */, "Untranslated_1010", "This message is not translated into another language."),
  F: diag(1011, 1 /* Error */, "Same_1011", "Another message that has the translation of one before."),
`)
	_, err = ReadMessages(dir, "de")
	require.ErrorIs(t, err, fs.ErrNotExist)
	writeManual(t, dir, "lib/de/diagnosticMessages.generated.json", `{"Same_1011": "Nachgestelltes Komma.",
		"A_file_1006": "Kein Verweis auf sich.", "_0_expected_1005": "\"{0}\" wurde erwartet.", "Short_7000": "Kurz.",
		"Trailing_comma_1009": "Nachgestelltes Komma.", "ALL_COMPILER_OPTIONS": "ohne Nummer"}`)
	messages, err := ReadMessages(dir, "de")
	require.NoError(t, err)
	require.Len(t, messages["en"], 6)
	require.Len(t, messages["de"], 5)
	require.Equal(t, &Set{
		Passages: []Passage{{"TS1006", "Kein Verweis auf sich."}, {"TS1009", "Nachgestelltes Komma."}},
		Questions: []Question{
			{`A file cannot have a reference to "itself", not even one.`, []string{"TS1006"}},
			{"Trailing comma not allowed in this place of it.", []string{"TS1009"}},
		},
	}, messages.Set("en", "de"))
	require.Len(t, messages.Set("de", "en").Passages, 3)
}

func TestShareOfASetHasTheAnswersOfItsQuestions(t *testing.T) {
	set := &Set{
		Passages: []Passage{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}},
		Mentions: [][2]int{{0, 1}, {0, 3}, {3, 0}},
		Questions: []Question{
			{"first", []string{"d"}}, {"second", []string{"a"}}, {"third", []string{"b"}}, {"fourth", []string{"c"}},
		},
	}
	require.Equal(t, set, set.Share(1))
	require.Equal(t, &Set{
		Passages:  []Passage{{"a", "1"}, {"d", "4"}},
		Mentions:  [][2]int{{0, 1}, {1, 0}},
		Questions: []Question{{"first", []string{"d"}}},
	}, set.Share(0.25))
	require.Len(t, set.Share(0.001).Questions, 1, "at least one")
	require.Equal(t, []int{0, 3, 6}, spread([]int{0, 1, 2, 3, 4, 5, 6, 7, 8}, 3))
}

func TestWikipediaIsASet(t *testing.T) {
	set := Read(t)
	require.Len(t, set.Passages, 6119)
	require.Len(t, set.Questions, 101)
	part := set.Share(0.1)
	require.Len(t, part.Questions, 10)
	require.Less(t, len(part.Passages), 700)
	require.NotEmpty(t, part.Mentions)
}
