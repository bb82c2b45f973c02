package main

import (
	"fmt"
	"strings"
)

// satisfied reports whether the allowed licences satisfy an SPDX licence expression: all operands
// of AND, one operand of OR. AND has precedence over OR. An exception after WITH is ignored,
// because it only grants more permissions.
func satisfied(expression string, allowed func(id string) bool) (bool, error) {
	p := &parser{words: strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(expression)), allowed: allowed}
	ok, err := p.parseOr()
	if err == nil && len(p.words) > 0 {
		err = fmt.Errorf("%q: %q is not expected", expression, p.words[0])
	}
	return ok, err
}

// parser is a recursive descent parser for licence expressions.
type parser struct {
	words   []string
	allowed func(string) bool
}

// accept consumes the next word if it is the given one.
func (p *parser) accept(word string) bool {
	if len(p.words) == 0 || !strings.EqualFold(p.words[0], word) {
		return false
	}
	p.words = p.words[1:]
	return true
}

func (p *parser) parseOr() (bool, error) {
	ok, err := p.parseAnd()
	for err == nil && p.accept("OR") {
		var other bool
		other, err = p.parseAnd()
		ok = ok || other
	}
	return ok, err
}

func (p *parser) parseAnd() (bool, error) {
	ok, err := p.parseLicence()
	for err == nil && p.accept("AND") {
		var other bool
		other, err = p.parseLicence()
		ok = ok && other
	}
	return ok, err
}

func (p *parser) parseLicence() (bool, error) {
	if p.accept("(") {
		ok, err := p.parseOr()
		if err == nil && !p.accept(")") {
			err = fmt.Errorf("a ) is missing")
		}
		return ok, err
	}
	if len(p.words) == 0 || strings.ContainsAny(p.words[0], "()") {
		return false, fmt.Errorf("a licence is missing")
	}
	id := p.words[0]
	p.words = p.words[1:]
	if p.accept("WITH") {
		if len(p.words) == 0 {
			return false, fmt.Errorf("what follows WITH is missing")
		}
		p.words = p.words[1:]
	}
	return p.allowed(id), nil
}
