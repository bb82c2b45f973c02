package load

import (
	"bytes"
	"fmt"
)

// canaryMark is the prefix of every canary: no other text of the load contains it.
const canaryMark = "zqcanary"

// canaryLength is the length of a canary in bytes.
const canaryLength = len(canaryMark) + 12

// canaryOf returns the canary of a workspace: a word that is in every text of the workspace, and
// must not be in any answer to another one.
func canaryOf(seed uint64, workspace int) string {
	return fmt.Sprintf("%s%08x%04x", canaryMark, uint32(seed^seed>>32), workspace)
}

// foreignCanary returns the first canary in a text that is not the allowed one; "" if there is
// none.
func foreignCanary(text []byte, allowed string) string {
	for {
		start := bytes.Index(text, []byte(canaryMark))
		if start < 0 {
			return ""
		}
		found := text[start:min(len(text), start+canaryLength)]
		if string(found) != allowed {
			return string(found)
		}
		text = text[start+len(found):]
	}
}

// checkLeak checks that an answer to a tenant does not contain canaries of other workspaces. A
// request without a tenant is an operator's, who may see all.
func (l *Load) checkLeak(q call, text []byte) {
	if q.key.tenant == nil {
		return
	}
	if found := foreignCanary(text, q.key.tenant.canary); found != "" {
		l.findings.add(
			10, "an answer to one workspace shows something of another", "%s %s, asked in %s, has %s: %s", q.method, q.path,
			q.key.tenant.id, found, clip(text),
		)
	}
}
