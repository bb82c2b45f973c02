package ingest

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// linesReference is a slow and simple parser of the line protocol: it splits the text into lines and
// each line into parts, and then checks the parts.
type linesReference struct {
	verdict
	micros   *big.Rat // microseconds per unit
	firstBad int      // number of the first line with a rejected point, 0: none
}

func interpretLines(body string, precision string) *linesReference {
	r := &linesReference{verdict: verdict{points: map[string]any{}}}
	r.micros = map[string]*big.Rat{
		"": big.NewRat(1, 1000), "n": big.NewRat(1, 1000), "ns": big.NewRat(1, 1000), "u": big.NewRat(1, 1),
		"us": big.NewRat(1, 1),
		"ms": big.NewRat(1000, 1), "s": big.NewRat(1_000_000, 1), "m": big.NewRat(60_000_000, 1),
		"h": big.NewRat(3_600_000_000, 1),
	}[precision]
	remaining, number := strings.TrimPrefix(body, "\ufeff"), 1
	for remaining != "" {
		line, readable := firstLine(remaining)
		before := r.rejected
		switch text := strings.TrimLeft(line, " \t"); {
		case text == "" || text == "\r" || text[0] == '#':
		case !readable:
			r.rejected++
		default:
			r.line(text)
		}
		if r.rejected > before && r.firstBad == 0 {
			r.firstBad = number
		}
		number += 1 + strings.Count(line, "\n")
		remaining = remaining[min(len(line)+1, len(remaining)):]
	}
	if r.accepted == 0 {
		r.invalid = true
	}
	return r
}

// firstLine returns the first line of text. If it cannot be parsed because of a quote, the line ends
// at the first line end outside of a string.
func firstLine(text string) (line string, readable bool) {
	if trimmed := strings.TrimLeft(text, " \t"); strings.HasPrefix(trimmed, "#") {
		line, _, _ = strings.Cut(text, "\n")
		return line, true
	}
	if end, ok := wellFormedEnd(text); ok {
		return text[:end], true
	}
	i := indexUnescaped(text, len(text)-len(strings.TrimLeft(text, " \t")), " ")
	for ; i < len(text) && text[i] != '\n'; i++ {
		if text[i] == '"' && i > 0 && text[i-1] == '=' {
			if end := closingQuote(text, i); end > 0 && valueEnds(text, end) {
				i = end - 1
			}
		}
	}
	return text[:i], false
}

// closingQuote returns the index after the string that begins at text[i], or -1.
func closingQuote(text string, i int) int {
	for i++; i < len(text); i++ {
		if text[i] == '"' {
			return i + 1
		}
		if text[i] == '\\' {
			i++
		}
	}
	return -1
}

func valueEnds(text string, i int) bool {
	return i == len(text) || strings.ContainsRune(", \n\r", rune(text[i]))
}

// wellFormedEnd returns the end of a line whose fields have the right form: keys and values,
// separated by commas.
func wellFormedEnd(text string) (end int, ok bool) {
	i := len(text) - len(strings.TrimLeft(text, " \t"))
	if i = indexUnescaped(text, i, " "); i == len(text) || text[i] == '\n' {
		return i, true
	}
	i += len(text[i:]) - len(strings.TrimLeft(text[i:], " \t"))
	for {
		from := i
		if i = indexUnescaped(text, i, ",= "); i == len(text) || text[i] != '=' || i == from {
			return 0, false
		}
		if i++; i < len(text) && text[i] == '"' {
			if i = closingQuote(text, i); i < 0 || !valueEnds(text, i) {
				return 0, false
			}
		} else {
			for !valueEnds(text, i) {
				i++
			}
		}
		if i == len(text) || text[i] != ',' {
			break
		}
		i++
	}
	tail, _, _ := strings.Cut(text[i:], "\n")
	return i + len(tail), true
}

// indexUnescaped returns the index, from text[i] on, of the first of the characters without a
// backslash before it, or else of the end of the line or the text.
func indexUnescaped(text string, i int, characters string) int {
	from := i
	for ; i < len(text) && text[i] != '\n'; i++ {
		// An escaped backslash is not special.
		if strings.IndexByte(characters, text[i]) >= 0 && (i == from || text[i-1] != '\\') {
			break
		}
	}
	return i
}

// unescape removes the backslashes before the characters.
func unescape(text, characters string) string {
	for _, c := range strings.Split(characters, "") {
		text = strings.ReplaceAll(text, `\`+c, c)
	}
	return text
}

type namedValue struct {
	metric string
	value  any
	good   bool
}

// line adds the points of a line of the right form.
func (r *linesReference) line(text string) {
	i := indexUnescaped(text, 0, " ")
	head := text[:i]
	remaining := strings.TrimLeft(text[i:], " \t")
	name, tags, readable := parseHead(head)
	var fields []namedValue
	for {
		from := indexUnescaped(remaining, 0, ",= ")
		if from == len(remaining) || remaining[from] != '=' {
			r.rejected++ // no fields
			return
		}
		metric, end := remaining[:from], from+1
		if end < len(remaining) && remaining[end] == '"' {
			end = closingQuote(remaining, end)
		} else {
			for !valueEnds(remaining, end) {
				end++
			}
		}
		value, known, good := parseValue(remaining[from+1 : end])
		readable = readable && known && utf8.ValidString(metric)
		fields = append(fields, namedValue{unescape(metric, ",= "), value, good})
		if remaining = remaining[end:]; remaining == "" || remaining[0] != ',' {
			break
		}
		remaining = remaining[1:]
	}
	parts := strings.FieldsFunc(strings.TrimSuffix(remaining, "\r"), func(c rune) bool { return c == ' ' || c == '\t' })
	if strings.HasPrefix(remaining, "\r") && remaining != "\r" { // no line end
		parts = []string{remaining}
	}
	us, goodTime := received.UnixMicro(), true
	switch {
	case len(parts) == 1:
		us, goodTime = r.time(parts[0])
	case len(parts) > 1 && regexp.MustCompile(`^-?[0-9]+$`).MatchString(parts[0]):
		readable = false
	case len(parts) > 1:
		goodTime = false
	}
	if !readable {
		r.rejected++
		return
	}
	good := goodTime && goodSource(name) && !slices.ContainsFunc(tags, badTag) && len(tags) <= 64 && !hasDuplicate(tags)
	for _, f := range fields {
		if !good || !f.good || badName(f.metric) {
			r.rejected++
			continue
		}
		r.accepted++
		kind := " n"
		if _, ok := f.value.(string); ok {
			kind = " s"
		}
		r.points[pointName(sourceNamed(name), f.metric, tags, us)+kind] = f.value
	}
}

func sourceNamed(name string) uuid.UUID {
	switch name {
	case "boiler":
		return boiler
	case "pump":
		return pump
	}
	return uuid.NewSHA1(workspace, []byte(name))
}

func goodSource(name string) bool {
	if n := utf8.RuneCountInString(name); n < 1 || n > 256 || strings.TrimSpace(name) == "" {
		return false
	}
	for _, c := range name {
		if unicode.IsControl(c) || c == 0x2028 || c == 0x2029 {
			return false
		}
	}
	return true
}

func badTag(t pointblock.Tag) bool {
	return badName(t.Key) || len(t.Value) > 1024 || strings.Contains(t.Value, "\x00")
}

func hasDuplicate(tags []pointblock.Tag) bool {
	return len(slices.CompactFunc(slices.Clone(tags), func(a, b pointblock.Tag) bool {
		return a.Key == b.Key
	})) < len(tags)
}

func parseHead(head string) (name string, tags []pointblock.Tag, readable bool) {
	i := indexUnescaped(head, 0, ", ")
	name = unescape(head[:i], ", ")
	for i < len(head) {
		i++
		equals := indexUnescaped(head, i, ",= ")
		if equals == len(head) || head[equals] != '=' {
			return "", nil, false
		}
		end := indexUnescaped(head, equals+1, ",= ")
		if equals == i || end == equals+1 || end < len(head) && head[end] == '=' {
			return "", nil, false
		}
		tags = append(tags, pointblock.Tag{
			Key: unescape(head[i:equals], ",= "), Value: unescape(head[equals+1:end], ",= "),
		})
		i = end
	}
	slices.SortStableFunc(tags, func(a, b pointblock.Tag) int { return strings.Compare(a.Key, b.Key) })
	return name, tags, name != "" && utf8.ValidString(head)
}

var (
	lineInteger  = regexp.MustCompile(`^[-+]?[0-9]+i$`)
	lineUnsigned = regexp.MustCompile(`^[0-9]+u$`)
	lineFloat    = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
)

// parseValue returns the value of a token. known reports whether the token has a valid form, and good
// whether the value is within the limits.
func parseValue(token string) (value any, known, good bool) {
	switch {
	case strings.HasPrefix(token, `"`):
		text := strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(token[1 : len(token)-1])
		return text, utf8.ValidString(token), len(text) <= 1024 && !strings.Contains(text, "\x00")
	case slices.Contains([]string{"t", "T", "true", "True", "TRUE"}, token):
		return 1.0, true, true
	case slices.Contains([]string{"f", "F", "false", "False", "FALSE"}, token):
		return 0.0, true, true
	case lineInteger.MatchString(token):
		n, err := strconv.ParseInt(strings.TrimSuffix(token, "i"), 10, 64)
		return float64(n), true, err == nil
	case lineUnsigned.MatchString(token):
		n, err := strconv.ParseUint(strings.TrimSuffix(token, "u"), 10, 64)
		return float64(n), true, err == nil
	case lineFloat.MatchString(token):
		number, err := strconv.ParseFloat(token, 64)
		return number, true, err == nil
	}
	return nil, false, false
}

func (r *linesReference) time(token string) (us int64, good bool) {
	if !integer.MatchString(token) || len(strings.TrimPrefix(token, "-")) > 19 {
		return 0, false
	}
	at, _ := new(big.Rat).SetString(token)
	at.Mul(at, r.micros)
	latest := new(big.Rat).SetInt64(received.Add(24 * time.Hour).UnixMicro())
	whole := new(big.Int).Quo(at.Num(), at.Denom())
	if at.Sign() < 0 || new(big.Rat).SetInt(whole).Cmp(latest) > 0 {
		return 0, false
	}
	return whole.Int64(), true
}
