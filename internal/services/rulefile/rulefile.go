// Package rulefile reads files of recording and alerting rules in Prometheus' format, and checks them against the
// limits of the service. Prometheus' own parser defines the format.
package rulefile

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/promengine"
)

// Limits of a file.
const (
	MaxBytes  = 256 << 10 // of its text
	MaxGroups = 100
	MaxRules  = 500 // in all groups
	// MaxLabels is the maximum number of labels, and of annotations, of a rule.
	MaxLabels = 32
	// MaxAlerts is the maximum number of active alerts of a rule.
	MaxAlerts = 250
	// MaxName is the maximum length of the name of a file, a group, a recorded metric or an alert.
	MaxName = 200
	// MaxInterval and MaxDuration bound the times of a file: the interval of a group, and how long an alert is
	// pending or firing.
	MaxInterval = 24 * time.Hour
	MaxDuration = 30 * 24 * time.Hour
)

// bounded is the parser of expressions.
var bounded = promengine.Bounded{Parser: promengine.Parser}

// maxErrors is the maximum number of errors that are returned for a file.
const maxErrors = 20

// Problem is one reason why a file is refused.
type Problem struct {
	Line   int    `json:"line,omitzero"` // 0: not known
	Reason string `json:"reason"`
}

// Parse parses a file and checks it against the limits. minInterval is the shortest interval of a group. The error is
// a *fault.Error: Malformed if the text is not YAML of the format, and Invalid if rules are wrong. Its details contain
// problems, a list of Problem.
func Parse(content []byte, minInterval time.Duration) (*rulefmt.RuleGroups, error) {
	if len(content) > MaxBytes {
		return nil, fault.Newf(fault.TooLarge, "A file of rules may have at most %d bytes", MaxBytes).With("limit", MaxBytes)
	}
	logger := slog.New(slog.DiscardHandler)
	groups, errs := rulefmt.Parse(content, false, model.UTF8Validation, bounded, logger)
	if groups == nil {
		return nil, refused(fault.Malformed, "The body is not a file of rules in Prometheus' format", errs)
	}
	if len(errs) == 0 {
		errs = checkGroups(groups, minInterval)
	}
	if len(errs) > 0 {
		return nil, refused(fault.Invalid, "The file of rules has errors", errs)
	}
	return groups, nil
}

// Decode parses a file that Parse accepted before, perhaps with other limits.
func Decode(content []byte) (*rulefmt.RuleGroups, error) {
	groups, errs := rulefmt.Parse(content, true, model.UTF8Validation, bounded, slog.New(slog.DiscardHandler))
	return groups, errors.Join(errs...)
}

// Count returns the number of rules of a file.
func Count(groups *rulefmt.RuleGroups) (rules int) {
	for i := range groups.Groups {
		rules += len(groups.Groups[i].Rules)
	}
	return rules
}

var (
	// position is the line and column at the start of an error of Prometheus, or of YAML.
	position = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): |(\d+):\d+: (?:\d+:\d+: )?)`)
	// internals are names of Go in errors, by what they are for the author of a file.
	internals = strings.NewReplacer(
		"type rulefmt.RuleGroups", "a file of rules", "rulefmt.RuleGroups", "a file of rules",
		"rulefmt.ruleGroups", "a file of rules", "type rulefmt.RuleGroup", "a group", "rulefmt.RuleGroupNode", "a group",
		"rulefmt.RuleGroup", "a group", "type rulefmt.Rule", "a rule", "rulefmt.RuleNode", "a rule", "rulefmt.Rule", "a rule",
		"template: __alert_", "template of ", "yaml: unmarshal errors:", "",
	)
)

// refused returns the error for a file with errors.
func refused(kind fault.Kind, message string, errs []error) error {
	var list []Problem
	for line := range strings.Lines(errors.Join(errs...).Error()) { // an error of YAML has several lines
		e := Problem{Reason: strings.TrimSpace(internals.Replace(line))}
		if m := position.FindStringSubmatch(e.Reason); m != nil {
			e.Line, _ = strconv.Atoi(m[1] + m[2])
			e.Reason = e.Reason[len(m[0]):]
		}
		if e.Reason != "" && !slices.Contains(list, e) && len(list) < maxErrors {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		list = []Problem{{Reason: "is not valid"}}
	}
	first := list[0]
	refusal := fault.Newf(kind, "%s: %s", message, first.Reason).With("field", "body").With("reason", first.Reason).
		With("problems", list)
	if first.Line > 0 {
		refusal = refusal.With("line", first.Line)
	}
	return refusal
}

// checkGroups checks groups against the limits.
func checkGroups(groups *rulefmt.RuleGroups, minInterval time.Duration) (errs []error) {
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if n := len(groups.Groups); n == 0 || n > MaxGroups {
		fail("a file must have 1 to %d groups", MaxGroups)
	}
	if Count(groups) > MaxRules {
		fail("a file must have at most %d rules", MaxRules)
	}
	for i := range groups.Groups {
		g := &groups.Groups[i]
		interval := time.Duration(g.Interval)
		offset := time.Duration(0)
		if g.QueryOffset != nil {
			offset = time.Duration(*g.QueryOffset)
		}
		switch {
		case len(g.Name) > MaxName:
			fail("group %.20q: its name must have at most %d bytes", g.Name, MaxName)
		case interval != 0 && (interval < minInterval || interval > MaxInterval):
			fail("group %q: interval must be from %s to %s", g.Name, minInterval, MaxInterval)
		case offset < 0 || offset > MaxInterval:
			fail("group %q: query_offset must be from 0s to %s", g.Name, MaxInterval)
		case g.Limit < 0:
			fail("group %q: limit must not be negative", g.Name)
		case len(g.Labels) > MaxLabels:
			fail("group %q: must have at most %d labels", g.Name, MaxLabels)
		}
		for j := range g.Rules {
			if err := checkRule(&g.Rules[j]); err != nil {
				fail("group %q, rule %d, %q: %w", g.Name, j+1, g.Rules[j].Record+g.Rules[j].Alert, err)
			}
		}
	}
	return errs
}

// checkRule checks a rule against the limits.
func checkRule(r *rulefmt.Rule) error {
	switch {
	case len(r.Record)+len(r.Alert) > MaxName:
		return fmt.Errorf("its name must have at most %d bytes", MaxName)
	case time.Duration(r.For) > MaxDuration:
		return fmt.Errorf("for must be at most %s", MaxDuration)
	case time.Duration(r.KeepFiringFor) > MaxDuration:
		return fmt.Errorf("keep_firing_for must be at most %s", MaxDuration)
	case len(r.Labels) > MaxLabels:
		return fmt.Errorf("must have at most %d labels", MaxLabels)
	case len(r.Annotations) > MaxLabels:
		return fmt.Errorf("must have at most %d annotations", MaxLabels)
	}
	if r.Alert == "" {
		return nil
	}
	return checkTemplates(r)
}

// Loader loads the files of a workspace into Prometheus' manager of rules. It implements rules.GroupLoader.
type Loader map[string]*rulefmt.RuleGroups

// Load returns the groups of a file.
func (l Loader) Load(name string, _ bool, _ model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	groups, ok := l[name]
	if !ok {
		return nil, []error{fmt.Errorf("there is no file %s", name)}
	}
	return groups, nil
}

// Parse parses an expression.
func (Loader) Parse(expression string) (parser.Expr, error) {
	return promengine.Parse(expression)
}
