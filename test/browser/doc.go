// Package browser drives the administration page as operators do: Debian's Chromium, by
// Playwright, against the built binary. The tests themselves are in specs/, in TypeScript;
// the test here starts the server for them, brings about what no operator can (dead
// letters), and stops and starts it when they ask for that.
//
// `make test` installs what is needed. By hand, after `make build` and `npm ci` here:
//
//	go test ./test/browser                              # all of them
//	LIVEGRAPH_BROWSER_ARGS='keys' go test ./test/browser # those of specs/keys.spec.ts
//	LIVEGRAPH_BROWSER_IMAGES=1 go test ./test/browser   # and write docs/images anew
//
// Screenshots of every page are left in a folder whose name the test logs (-v).
package browser
