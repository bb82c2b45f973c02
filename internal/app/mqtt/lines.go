package mqtt

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/internal/app/mqtt/mapping"
)

var (
	nameEscapes  = strings.NewReplacer(",", `\,`, " ", `\ `, "=", `\=`)
	valueEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

	errName = errors.New("a name of a source, metric or tag is empty, or has a backslash or a control character")
)

// appendLine appends a point in line protocol, the format of points in which the server creates sources. With an error
// it appends nothing.
func appendLine(b []byte, p *mapping.Point) ([]byte, error) {
	if err := checkNames(p); err != nil {
		return b, err
	}
	b = append(b, nameEscapes.Replace(p.Source)...)
	for _, key := range slices.Sorted(maps.Keys(p.Tags)) {
		b = append(append(b, ','), nameEscapes.Replace(key)...)
		b = append(append(b, '='), nameEscapes.Replace(p.Tags[key])...)
	}
	b = append(append(b, ' '), nameEscapes.Replace(p.Metric)...)
	b = append(b, '=')
	if p.Value.IsText {
		b = append(append(append(b, '"'), valueEscapes.Replace(p.Value.Text)...), '"')
	} else {
		b = strconv.AppendFloat(b, p.Value.Number, 'g', -1, 64)
	}
	b = strconv.AppendInt(append(b, ' '), p.TimeUS, 10)
	return append(b, "000\n"...), nil // nanoseconds, the default of the format
}

func checkNames(p *mapping.Point) error {
	if strings.HasPrefix(p.Source, "#") {
		return errors.New("the name of a source begins with #")
	}
	ok := isName(p.Source) && isName(p.Metric)
	for key, value := range p.Tags {
		ok = ok && isName(key) && isName(value)
	}
	if !ok {
		return errName
	}
	return nil
}

// isName reports whether a text can be a name in a line. Backslashes are refused because the format has no escape for
// them.
func isName(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f })
}
