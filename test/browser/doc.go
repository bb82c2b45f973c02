// Package browser tests the web UI as operators use it: Debian's headless Chromium, driven by Playwright,
// against the built binary. The tests are in specs/, in TypeScript. The Go test starts the server for
// them, creates what operators cannot create (dead letters), and stops and starts the server when a
// spec requests it.
//
// `make test` installs the dependencies. To run the specs manually, run `make build`, run `npm ci`
// in this folder, and then one of:
//
//	go test ./test/browser                              # all specs
//	LIVEGRAPH_BROWSER_ARGS='keys' go test ./test/browser # specs/keys.spec.ts
//
// The test writes screenshots of every page to a temporary folder and logs its name (-v),
// or to LIVEGRAPH_BROWSER_IMAGES. The images in docs/images are selected from them.
package browser
