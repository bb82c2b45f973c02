package retrieval

import (
	"regexp"
	"strings"
)

// fontMacros are the macros of man(7) whose arguments are text, and what is between the arguments in the output.
var fontMacros = map[string]string{
	"B": " ", "I": " ", "SM": " ", "SB": " ", "BI": "", "BR": "", "IB": "", "IR": "", "RB": "", "RI": "",
}

// blockEnds are the requests that begin a block without text, such as the definition of a macro, and the line that ends
// it.
var blockEnds = map[string]string{"de": "..", "de1": "..", "am": "..", "ig": "..", "TS": ".TE", "EQ": ".EN"}

// readRoff returns the plain text of the sections of a manual page that is written with the macros of man(7), by their
// headings in capitals. It is sufficient for sentences: it does not evaluate conditions nor expand other macros.
func readRoff(source string) map[string]string {
	sections, heading, end := map[string]string{}, "", ""
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, " \t\r\n")
		if end != "" {
			if line == end {
				end = ""
			}
			continue
		}
		if line == "" || line[0] != '.' && line[0] != '\'' {
			sections[heading] += " " + plainRoff(line)
			continue
		}
		request, rest, _ := strings.Cut(strings.TrimLeft(line[1:], " \t"), " ")
		separator, isText := fontMacros[request]
		switch {
		case request == "SH":
			heading = strings.ToUpper(strings.Join(roffArguments(rest), " "))
		case isText:
			sections[heading] += " " + strings.Join(roffArguments(rest), separator)
		default:
			end = blockEnds[request]
		}
	}
	for heading, text := range sections {
		sections[heading] = strings.Join(strings.Fields(text), " ")
	}
	return sections
}

// roffArgument is an argument of a macro: in quotes, in which two quotes are one, or up to a space that is not escaped.
var roffArgument = regexp.MustCompile(`"(?:[^"]|"")*"?|(?:\\.|[^\s\\])+`)

// roffArguments returns the arguments of a macro as plain text.
func roffArguments(text string) (list []string) {
	text, _, _ = strings.Cut(text, `\"`) // a comment
	for _, argument := range roffArgument.FindAllString(text, -1) {
		if inner, quoted := strings.CutPrefix(argument, `"`); quoted {
			argument = strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `""`, `"`)
		}
		list = append(list, plainRoff(argument))
	}
	return list
}

// roffEscape is an escape sequence (groff(7)): a comment; a special character, string, font or register with a name in
// brackets or of two letters; a font of one letter; a size; a function with an argument in quotes; another character.
var roffEscape = regexp.MustCompile(
	`\\(?:".*|[fFmMkgnVs*]?(?:\[[^\]]*\]|\(..)|[fF*n].|s[-+]?\d{1,2}|[hvwlLbDNXZ]'[^']*'|.)`,
)

// roffCharacters are the characters that escape sequences mean, without the backslash. Those of all others are removed.
var roffCharacters = map[string]string{
	"-": "-", "e": `\`, "E": `\`, `\`: `\`, ".": ".", "'": "'", "`": "`", " ": " ", "~": " ", "0": " ", "t": " ",
	"(aq": "'", "[aq]": "'", "*(Aq": "'", "(cq": "'", "[cq]": "'", "(oq": "'", "[oq]": "'", "(dq": `"`, "[dq]": `"`,
	"(lq": `"`, "[lq]": `"`, "*(lq": `"`, "(rq": `"`, "[rq]": `"`, "*(rq": `"`, "(em": "-", "[em]": "-", "(en": "-",
	"[en]": "-", "(hy": "-", "[hy]": "-", "(mi": "-", "(ti": "~", "[ti]": "~", "(ha": "^", "[ha]": "^", "(rs": `\`,
	"[rs]": `\`, "(ga": "`", "[ga]": "`",
}

// plainRoff returns text without escape sequences.
func plainRoff(text string) string {
	return roffEscape.ReplaceAllStringFunc(text, func(escape string) string { return roffCharacters[escape[1:]] })
}
