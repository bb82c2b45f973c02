package load

import (
	"bytes"
	"fmt"
)

// canaryMark begins every canary: no other text of the load has it.
const canaryMark = "zqcanary"

// canaryLength is how long a canary is.
const canaryLength = len(canaryMark) + 12

// canaryOf makes the canary of a workspace: a word that is in every text of it, and
// must be in nothing that another one is answered.
func canaryOf(seed uint64, workspace int) string {
	return fmt.Sprintf("%s%08x%04x", canaryMark, uint32(seed^seed>>32), workspace)
}

// strange finds a canary in a text that is not the one allowed; "" if there is none.
func strange(text []byte, allowed string) string {
	for {
		at := bytes.Index(text, []byte(canaryMark))
		if at < 0 {
			return ""
		}
		found := text[at:min(len(text), at+canaryLength)]
		if string(found) != allowed {
			return string(found)
		}
		text = text[at+len(found):]
	}
}

// sniff looks for other workspaces' canaries in what a tenant was answered. Anyone who
// asks without a tenant is an operator, who may see all.
func (l *Load) sniff(q call, text []byte) {
	if q.key.tenant == nil {
		return
	}
	if found := strange(text, q.key.tenant.canary); found != "" {
		l.wrong.add(
			10, "an answer to one workspace shows something of another", "%s %s, asked in %s, has %s: %s", q.method, q.path,
			q.key.tenant.id, found, clip(text),
		)
	}
}
