package retrieval

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

const (
	messageQuestions = 150
	minMessage       = 40 // characters in English: shorter ones are names of options and similar to each other
)

// Messages are the messages of the TypeScript compiler, by number, in each language. "en" is English.
type Messages map[string]map[int]string

// ReadMessages reads the messages from the folder of the compiler's package, such as web/node_modules/typescript. The
// error is fs.ErrNotExist if it is not installed.
func ReadMessages(dir string, languages ...string) (Messages, error) {
	program, err := os.ReadFile(filepath.Join(dir, "lib", "typescript.js"))
	if err != nil {
		return nil, err
	}
	messages := Messages{}
	if messages["en"], err = parseMessages(string(program)); err != nil {
		return nil, err
	}
	for _, language := range languages {
		translated, err := os.ReadFile(filepath.Join(dir, "lib", language, "diagnosticMessages.generated.json"))
		if err != nil {
			return nil, err
		}
		if messages[language], err = parseTranslations(translated); err != nil {
			return nil, fmt.Errorf("reading the messages in %s: %w", language, err)
		}
	}
	return messages, nil
}

// diagnostic is a message in the program: diag(1005, 1 /* Error */, "_0_expected_1005", "'{0}' expected.").
var diagnostic = regexp.MustCompile(`\bdiag\((\d+), \d+ /\* \w+ \*/, "[^"]*", ("(?:[^"\\]|\\.)*")`)

// parseMessages returns the messages in English, which are in the program.
func parseMessages(program string) (map[int]string, error) {
	messages := map[int]string{}
	for _, match := range diagnostic.FindAllStringSubmatch(program, -1) {
		number, err := strconv.Atoi(match[1])
		if err != nil {
			return nil, err
		}
		var text string
		if err := json.Unmarshal([]byte(match[2]), &text); err != nil {
			return nil, fmt.Errorf("message %d: %w", number, err)
		}
		messages[number] = text
	}
	return messages, nil
}

// parseTranslations returns the messages of a file of translations. Their keys end with the number.
func parseTranslations(file []byte) (map[int]string, error) {
	var byKey map[string]string
	if err := json.Unmarshal(file, &byKey); err != nil {
		return nil, err
	}
	messages := map[int]string{}
	for key, text := range byKey {
		if number, err := strconv.Atoi(key[strings.LastIndexByte(key, '_')+1:]); err == nil {
			messages[number] = text
		}
	}
	return messages, nil
}

// Set returns the set in which a message in one language asks for that of the same number in another. It has the
// messages without placeholders that all languages have, each text once.
func (m Messages) Set(asks, answers string) *Set {
	set, seen := &Set{}, map[string]bool{}
	for _, number := range slices.Sorted(maps.Keys(m["en"])) {
		text, answer := m["en"][number], m[answers][number]
		if strings.Contains(text, "{0}") || utf8.RuneCountInString(text) < minMessage || !m.inAll(number) || seen[answer] {
			continue
		}
		seen[answer] = true
		title := fmt.Sprintf("TS%d", number)
		set.Passages = append(set.Passages, Passage{Title: title, Text: answer})
		set.Questions = append(set.Questions, Question{Question: m[asks][number], Gold: []string{title}})
	}
	set.Questions = spread(set.Questions, messageQuestions)
	return set
}

// inAll reports whether all languages have the message.
func (m Messages) inAll(number int) bool {
	for _, texts := range m {
		if texts[number] == "" {
			return false
		}
	}
	return true
}
