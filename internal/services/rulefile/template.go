package rulefile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"text/template/parse"

	"github.com/prometheus/prometheus/model/rulefmt"
)

// Limits of the templates in labels and annotations. Together they bound the text that a template expands to, which
// Prometheus does not: a template that doubles a text forty times would need all memory of the process.
const (
	maxTemplateBytes = 8 << 10 // of all labels and annotations of a rule
	maxActions       = 40      // {{ }} of a rule
	maxNesting       = 4       // of if and with
	maxTextFunctions = 2       // in an action
	maxReplacement   = 64      // bytes of an argument of reReplaceAll
)

// textFunctions are the functions whose result may be longer than their arguments.
var textFunctions = []string{
	"print", "printf", "println", "html", "js", "urlquery", "urlQueryEscape", "reReplaceAll", "graphLink", "tableLink",
	"slice", "args", "title", "toUpper", "toLower", "safeHtml",
}

// format is a format of printf whose result is bounded: no width above 99, no width out of an argument, and no
// argument twice.
var format = regexp.MustCompile(`^([^%]|%[-+# 0]*[0-9]{0,2}(\.[0-9]{0,2})?[a-zA-Z%])*$`)

// checkTemplates checks the templates of an alerting rule.
func checkTemplates(r *rulefmt.Rule) error {
	c := &templateCheck{}
	bytes := 0
	for _, list := range []map[string]string{r.Labels, r.Annotations} {
		for name, text := range list {
			if bytes += len(text); bytes > maxTemplateBytes {
				return fmt.Errorf("labels and annotations must have at most %d bytes together", maxTemplateBytes)
			}
			if err := c.check(text); err != nil {
				return fmt.Errorf("template of %q: %w", name, err)
			}
		}
	}
	return nil
}

// templateCheck checks the templates of one rule.
type templateCheck struct{ actions int }

// definitions are the variables that Prometheus defines before each template.
const definitions = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}" +
	"{{$externalURL := .ExternalURL}}{{$value := .Value}}"

func (c *templateCheck) check(text string) error {
	// Prometheus has parsed it already, so the functions exist; parse.SkipFuncCheck saves a list of them.
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(definitions+text, "", "", trees); err != nil {
		return err
	}
	if len(trees) > 1 {
		return errors.New("must not define templates")
	}
	nodes := tree.Root.Nodes[min(len(tree.Root.Nodes), 4):] // without the definitions
	return c.nodes(nodes, 0)
}

func (c *templateCheck) nodes(list []parse.Node, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("must be nested at most %d deep", maxNesting)
	}
	for _, n := range list {
		var err error
		switch n := n.(type) {
		case *parse.TextNode, *parse.CommentNode:
		case *parse.ActionNode:
			err = c.action(n.Pipe, maxTextFunctions)
		case *parse.IfNode:
			err = c.branch(&n.BranchNode, depth, maxTextFunctions)
		case *parse.WithNode:
			err = c.branch(&n.BranchNode, depth, 0) // its text could be doubled at every level
		default:
			err = fmt.Errorf("must not have %s", n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// branch checks if and with.
func (c *templateCheck) branch(b *parse.BranchNode, depth, textFunctions int) error {
	err := c.action(b.Pipe, textFunctions)
	if err == nil && b.List != nil {
		err = c.nodes(b.List.Nodes, depth+1)
	}
	if err == nil && b.ElseList != nil {
		err = c.nodes(b.ElseList.Nodes, depth+1)
	}
	return err
}

// action checks a pipeline with at most a number of functions that lengthen texts.
func (c *templateCheck) action(pipe *parse.PipeNode, limit int) error {
	if c.actions++; c.actions > maxActions {
		return fmt.Errorf("a rule must have at most %d actions {{ }}", maxActions)
	}
	n, err := c.pipeline(pipe)
	if err == nil && n > limit {
		err = fmt.Errorf("must use at most %d of the functions that change texts in an action, and none in with",
			maxTextFunctions)
	}
	return err
}

// pipeline checks a pipeline and returns the number of its functions that lengthen texts.
func (c *templateCheck) pipeline(pipe *parse.PipeNode) (functions int, err error) {
	if len(pipe.Decl) > 0 {
		return 0, errors.New("must not declare or set variables")
	}
	for _, command := range pipe.Cmds {
		n, err := c.command(command)
		if err != nil {
			return 0, err
		}
		functions += n
	}
	return functions, nil
}

// textOf returns the text of a string in a template, "" for any other node.
func textOf(n parse.Node) string {
	if text, ok := n.(*parse.StringNode); ok {
		return text.Text
	}
	return ""
}

func (c *templateCheck) command(command *parse.CommandNode) (functions int, err error) {
	name := ""
	if id, ok := command.Args[0].(*parse.IdentifierNode); ok {
		name = id.Ident
	}
	if slices.Contains(textFunctions, name) {
		functions++
	}
	literal := func(i, limit int) bool {
		if i >= len(command.Args) {
			return false
		}
		text, ok := command.Args[i].(*parse.StringNode)
		return ok && len(text.Text) <= limit
	}
	switch {
	case name == "printf" && (!literal(1, maxTemplateBytes) || !format.MatchString(textOf(command.Args[1]))):
		return 0, errors.New("the format of printf must be a text with widths of at most two digits")
	case name == "reReplaceAll" && (!literal(1, maxReplacement) || !literal(2, maxReplacement)):
		return 0, fmt.Errorf("the first two arguments of reReplaceAll must be texts of at most %d bytes", maxReplacement)
	}
	for _, arg := range command.Args {
		inner, ok := arg.(*parse.PipeNode)
		if chain, isChain := arg.(*parse.ChainNode); isChain {
			inner, ok = chain.Node.(*parse.PipeNode)
		}
		if !ok {
			continue
		}
		n, err := c.pipeline(inner)
		if err != nil {
			return 0, err
		}
		functions += n
	}
	return functions, nil
}
