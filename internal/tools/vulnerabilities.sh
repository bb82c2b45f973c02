#!/usr/bin/env bash
# Asks for known vulnerabilities: govulncheck about what is called of the Go modules, npm
# about the packages of the administration page and of its tests.
#
# Both ask databases elsewhere: Go's (another one: GOVULNDB=https://… or file://…) and the
# npm registry's. Where one cannot be asked, that is no answer: this fails. With OFFLINE=1
# it goes on, and says at the end what was not asked.
set -uo pipefail
cd "$(dirname "$0")/../.."

tools=${TOOLS:-$PWD/bin/tools}
failed=() unasked=()

# ask_go runs govulncheck in a module: 0 none is known, 3 some are, else it could not ask.
ask_go() {
	local module=$1 output status
	output=$(cd "$module" && "$tools/govulncheck" ${GOVULNDB:+-db "$GOVULNDB"} ./... 2>&1)
	status=$?
	case $status in
	0) echo "govulncheck: nothing is known about $module" ;;
	3) printf '%s\n' "$output"; failed+=("govulncheck found something about $module") ;;
	*) printf '%s\n' "$output" | head -n 5 >&2; unasked+=("govulncheck about $module") ;;
	esac
}

# ask_npm asks about a lock file. An answer has the number of vulnerabilities; anything
# else is none.
ask_npm() {
	local folder=$1 output count
	output=$(cd "$folder" && npm audit --audit=true --json --package-lock-only 2>/dev/null)
	count=$(printf '%s' "$output" | node -e '
		let text = ""
		process.stdin.on("data", (part) => (text += part)).on("end", () => {
			try { console.log(JSON.parse(text).metadata.vulnerabilities.total ?? "") } catch { console.log("") }
		})')
	case $count in
	0) echo "npm audit: nothing is known about $folder" ;;
	'') printf '%s\n' "$output" | head -n 5 >&2; unasked+=("npm audit about $folder") ;;
	*) (cd "$folder" && npm audit --audit=true --package-lock-only); failed+=("npm audit found $count about $folder") ;;
	esac
}

for module in ${GO_MODULES-. sdk/go}; do ask_go "$module"; done
for folder in ${NPM_FOLDERS-web test/browser sdk/typescript}; do ask_npm "$folder"; done

for what in "${failed[@]}"; do echo "FOUND: $what" >&2; done
for what in "${unasked[@]}"; do echo "NOT RUN: $what: there was no answer, see above" >&2; done
if [ ${#failed[@]} -gt 0 ]; then exit 1; fi
if [ ${#unasked[@]} -gt 0 ] && [ -z "${OFFLINE:-}" ]; then
	echo "vulnerabilities are not known to be none: run this where the databases can be reached, or accept it with OFFLINE=1" >&2
	exit 2
fi
