package main

import (
	"fmt"
	"strings"
)

// satisfied reports whether an SPDX licence expression can be kept with the licences that
// are allowed: all of AND, one of OR. AND binds more than OR; an exception after WITH
// only ever permits more.
func satisfied(expression string, allowed func(id string) bool) (bool, error) {
	r := &reader{words: strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(expression)), allowed: allowed}
	ok, err := r.either()
	if err == nil && len(r.words) > 0 {
		err = fmt.Errorf("%q: %q is not expected", expression, r.words[0])
	}
	return ok, err
}

type reader struct {
	words   []string
	allowed func(string) bool
}

// take takes the next word if it is this one.
func (r *reader) take(word string) bool {
	if len(r.words) == 0 || !strings.EqualFold(r.words[0], word) {
		return false
	}
	r.words = r.words[1:]
	return true
}

func (r *reader) either() (bool, error) {
	ok, err := r.both()
	for err == nil && r.take("OR") {
		var other bool
		other, err = r.both()
		ok = ok || other
	}
	return ok, err
}

func (r *reader) both() (bool, error) {
	ok, err := r.one()
	for err == nil && r.take("AND") {
		var other bool
		other, err = r.one()
		ok = ok && other
	}
	return ok, err
}

func (r *reader) one() (bool, error) {
	if r.take("(") {
		ok, err := r.either()
		if err == nil && !r.take(")") {
			err = fmt.Errorf("a ) is missing")
		}
		return ok, err
	}
	if len(r.words) == 0 || strings.ContainsAny(r.words[0], "()") {
		return false, fmt.Errorf("a licence is missing")
	}
	id := r.words[0]
	r.words = r.words[1:]
	if r.take("WITH") {
		if len(r.words) == 0 {
			return false, fmt.Errorf("what follows WITH is missing")
		}
		r.words = r.words[1:]
	}
	return r.allowed(id), nil
}
