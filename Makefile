# Livegraph. `make help` lists what there is.

BIN     := bin
TOOLS   := $(CURDIR)/$(BIN)/tools
# The version that is worked on. A build of its tag says 0.1.0, any other 0.1.0-dev+COMMIT.
RELEASE := $(shell cat VERSION)
COMMIT  := $(shell git describe --always --exclude '*' --abbrev=12 --dirty 2>/dev/null | sed 's/-dirty/.dirty/')
TAGGED  := $(shell git describe --tags --exact-match --match 'v$(RELEASE)' --dirty 2>/dev/null)
VERSION ?= $(RELEASE)$(if $(filter v$(RELEASE),$(TAGGED)),,-dev$(addprefix +,$(COMMIT)))
LDFLAGS := -s -w -X main.version=$(VERSION)
DATA    ?= ./data
LISTEN  ?= 127.0.0.1:8080

# As in releases. Packages that are equal in two folders are compiled once.
export GOFLAGS := $(GOFLAGS) -trimpath

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: prerequisites
prerequisites:
	@command -v go >/dev/null || { echo "Go 1.26 or newer is needed: https://go.dev/dl"; exit 1; }
	@python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer with venv is needed for the embedded engines (Debian: apt-get install python3-venv)"; exit 1; }

# The administration page, which the binary has inside. It is built anew when its
# sources have changed.
PAGE      := web/dist/index.html
PAGE_DEPS := web/node_modules/.package-lock.json
PAGE_SRC  := web/index.html web/vite.config.ts web/tsconfig.json $(shell find web/src web/public -type f)

.PHONY: page-prerequisites
page-prerequisites:
	@node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null && command -v npm >/dev/null || { \
		echo "Node.js 20.19 or newer with npm is needed to build the administration page: https://nodejs.org"; exit 1; }

$(PAGE_DEPS): web/package.json web/package-lock.json | page-prerequisites
	@echo "installing what the administration page is built with"
	@cd web && npm ci --loglevel=error
	@touch $@

$(PAGE): $(PAGE_DEPS) $(PAGE_SRC) | page-prerequisites
	@echo "building the administration page"
	@cd web && npm run build --silent -- --logLevel warn

# Checked again when something of it has changed.
$(BIN)/.page-linted: $(PAGE_DEPS) $(PAGE_SRC) web/eslint.config.js web/cycles.js web/.prettierrc.json web/redocly.yaml web/README.md schemas/openapi.yaml schemas/admin.yaml | page-prerequisites
	@cd web && npm run lint --silent
	@mkdir -p $(BIN) && touch $@

.PHONY: page-test
page-test: $(PAGE_DEPS) ## the tests of the administration page's code
	@cd web && npm test --silent

.PHONY: build
build: prerequisites $(PAGE) ## build bin/livegraph
	@echo "building $(BIN)/livegraph"
	@go build -ldflags '$(LDFLAGS)' -o $(BIN)/livegraph ./cmd/livegraph

.PHONY: run
run: build ## set up, build, start everything on this machine and stream its own metrics
	@$(BIN)/livegraph serve --demo --data-dir $(DATA) --listen $(LISTEN)

.PHONY: dev
dev: prerequisites $(PAGE_DEPS) $(TOOLS)/air ## run the server and the page from their sources, each reloaded when they change
	@DATA='$(DATA)' LISTEN='$(LISTEN)' internal/tools/dev/run.sh

# What tests could not be run for lack of something on this machine.
NOT_RUN := $(CURDIR)/$(BIN)/not-run

# What the tests of a folder below test run in Python: clients of InfluxDB, an edge node of Sparkplug B, data frames,
# OpenTelemetry, the SDK.
INFLUX_PYTHON    := $(BIN)/influx-python/.installed
MQTT_PYTHON      := $(BIN)/mqtt-python/.installed
NOTEBOOKS_PYTHON := $(BIN)/notebooks-python/.installed
OTEL_PYTHON      := $(BIN)/otel-python/.installed
SDK_PYTHON       := $(BIN)/sdk-python/.installed

$(BIN)/%-python/.installed: test/%/requirements.txt
	@echo "installing the Python packages of test/$*"
	@rm -rf $(@D) && python3 -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r $<
	@touch $@

# What formats and checks Python: ruff, in the version of the SDK's tests.
LINT_PYTHON := $(BIN)/lint-python/.installed

$(LINT_PYTHON): test/sdk/requirements.txt
	@echo "installing ruff"
	@rm -rf $(@D) && python3 -m venv $(@D)
	@sed -n '/^ruff==/,/[^\\]$$/p' $< >$(@D)/requirements.txt
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r $(@D)/requirements.txt
	@touch $@

# What drives the page in a browser. Chromium itself is Debian's, in its headless edition: where it is
# missing and cannot be installed, the tests say aloud that they did not run.
BROWSER_DEPS := test/browser/node_modules/.package-lock.json

# What checks, tests and builds the SDK in TypeScript.
SDK_TYPESCRIPT := sdk/typescript/node_modules/.package-lock.json

$(SDK_TYPESCRIPT): sdk/typescript/package.json sdk/typescript/package-lock.json | page-prerequisites
	@echo "installing what sdk/typescript is built with"
	@cd sdk/typescript && npm ci --loglevel=error
	@touch $@

$(BROWSER_DEPS): test/browser/package.json test/browser/package-lock.json | page-prerequisites
	@echo "installing what drives the browser of the tests"
	@cd test/browser && npm ci --loglevel=error
	@touch $@

.PHONY: chromium
chromium:
	@command -v chromium-headless-shell >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		echo "installing Chromium" && apt-get update -qq && export DEBIAN_FRONTEND=noninteractive && \
		{ apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-dejavu-core || \
		apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null; } || true

# debian installs packages of Debian, where that is possible: $(call debian,TITLE,PACKAGES). Tests report what is missing.
debian = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	echo "installing $(1)" && apt-get update -qq && export DEBIAN_FRONTEND=noninteractive && \
	apt-get install -y -qq --no-install-recommends $(2) >/dev/null; } || true

# The MQTT broker of test/mqtt.
.PHONY: mosquitto
mosquitto:
	@command -v mosquitto /usr/sbin/mosquitto >/dev/null && command -v mosquitto_pub >/dev/null || \
		$(call debian,Mosquitto,mosquitto mosquitto-clients)

# The pooler of connections to Postgres that test/e2e runs the service through.
.PHONY: pgbouncer
pgbouncer:
	@command -v pgbouncer /usr/sbin/pgbouncer >/dev/null || $(call debian,PgBouncer,pgbouncer)

.PHONY: browser
browser: export LIVEGRAPH_TEST = all
browser: build chromium $(BROWSER_DEPS) ## the tests of the administration page in Chromium
	@go test -count=1 -timeout 60m -v ./test/browser

.PHONY: test
test: export LIVEGRAPH_TEST_NOT_RUN = $(NOT_RUN)
test: build chromium mosquitto $(BROWSER_DEPS) $(TOOLS)/golangci-lint $(LINT_PYTHON) ## set up, check and test everything on the embedded engines
	@rm -f $(NOT_RUN)
	@$(BIN)/livegraph engines install
	@test/stages.sh short
	@$(not-run)

.PHONY: test-all
test-all: export LIVEGRAPH_TEST_NOT_RUN = $(NOT_RUN)
test-all: build chromium mosquitto pgbouncer $(BROWSER_DEPS) $(INFLUX_PYTHON) $(MQTT_PYTHON) $(NOTEBOOKS_PYTHON) $(OTEL_PYTHON) $(SDK_PYTHON) $(SDK_TYPESCRIPT) $(TOOLS)/golangci-lint $(LINT_PYTHON) ## make test in its long form, on Apache Kafka as well, and with the clients and servers of other projects
	@rm -f $(NOT_RUN)
	@$(BIN)/livegraph engines install
	@test/stages.sh all
	@$(not-run)

not-run = if [ -s $(NOT_RUN) ]; then echo; sort -u $(NOT_RUN); \
	echo "Install what is missing (Java 17 and Maven for Apache Kafka, Chromium for the page, Mosquitto for MQTT, PgBouncer for Postgres, gcc for the race detector) to run them too."; fi >&2

.PHONY: sdk-generate
sdk-generate: $(SDK_PYTHON) $(SDK_TYPESCRIPT) sdk-generate-go ## make the generated files of sdk again, from schemas/openapi.yaml and the async client in Python
	@$(BIN)/sdk-python/bin/python sdk/python/tools/generate.py
	@cd sdk/typescript && npm run types --silent

.PHONY: sdk-generate-go
sdk-generate-go:
	@cd internal/tools/sdk && go run . ../../../schemas/openapi.yaml ../../../sdk/go/types.gen.go

.PHONY: sdk-test
sdk-test: $(SDK_PYTHON) $(SDK_TYPESCRIPT) ## the tests of sdk that need no service; ruff and mypy, eslint, prettier and tsc
	@LIVEGRAPH_TEST=all go test -count=1 -short ./test/sdk

.PHONY: sdk-release-check
sdk-release-check: $(SDK_PYTHON) $(SDK_TYPESCRIPT) ## build the packages of sdk, check them, and install them in new environments
	@test/sdk/release-check.sh $(BIN)/sdk-python/bin/python $(RELEASE)
	@test/sdk/release-check-typescript.sh $(RELEASE)
	@test/sdk/release-check-go.sh $(RELEASE)

.PHONY: test-milvus
test-milvus: ## the tests of the vector store on Milvus standalone (make test runs them on milvus-lite)
	@LIVEGRAPH_TEST_MILVUS=standalone go test -count=1 -timeout 20m ./storage/milvus

.PHONY: short
short: ## the tests that need no engine
	@go test -short ./...

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (1m); FUZZ=name only those that match it
	@./test/fuzz.sh $(or $(FUZZTIME),1m) '$(or $(FUZZ),.)'

.PHONY: chaos
chaos: build ## try FAULTS (100) faults under load; SEED=n deals the same again, KAFKA=apache, SHARDS=2 of ClickHouse, ONLY='kill/*', LOAD=0.4 of the usual load, RECORD=yes keeps the log
	@$(BIN)/livegraph engines install
	@go build -o $(BIN)/chaos ./test/chaos/cmd
	@$(BIN)/chaos -faults $(or $(FAULTS),100) $(if $(SEED),-seed $(SEED)) $(if $(KAFKA),-kafka $(KAFKA)) $(if $(SHARDS),-shards $(SHARDS)) $(if $(ONLY),-only '$(ONLY)') $(if $(LOAD),-load $(LOAD)) \
		-binary $(BIN)/livegraph -commit '$(COMMIT)' $(if $(RECORD),-runs test/chaos/runs)

.PHONY: mutants
mutants: build ## plant each bug of test/chaos/mutants/patches and have it caught by faults under load; ONLY=name,name
	@$(BIN)/livegraph engines install
	@go build -o $(BIN)/chaos ./test/chaos/cmd
	@go run ./test/chaos/mutants $(if $(ONLY),-only '$(ONLY)') -write docs/reliability.md

.PHONY: soak
soak: build ## the long mode of make chaos: SOAK (1h) with rolling restarts, and docs/soak.md with its plots; SOAK=2m is for trying; SEED=n, KAFKA=apache
	@$(BIN)/livegraph engines install
	@go build -o $(BIN)/chaos ./test/chaos/cmd
	@$(BIN)/chaos -for $(or $(SOAK),1h) -seed $(or $(SEED),1) $(if $(KAFKA),-kafka $(KAFKA)) -binary $(BIN)/livegraph -commit '$(COMMIT)'

.PHONY: scale
scale: build ## upgrade an installation on three hosts (network namespaces; needs root) and take each of them from it, under load, ROUNDS (1) times; SEED=n, ONLY='loss|separation', FROM=binary of an older version
	@$(BIN)/livegraph engines install
	@LIVEGRAPH_TEST=all LIVEGRAPH_TEST_SCALE_ROUNDS=$(or $(ROUNDS),1) LIVEGRAPH_TEST_SCALE_SEED=$(SEED) LIVEGRAPH_TEST_SCALE_FROM=$(if $(FROM),$(abspath $(FROM))) \
		go test -count=1 -v -timeout 24h -run 'SeveralHosts/($(ONLY))' ./test/scale

.PHONY: chaos-report
chaos-report: ## write the recorded runs of faults into docs/reliability.md
	@go run ./test/chaos/report

.PHONY: bench
bench: build ## benchmarks, each beside its baseline, and docs/benchmarks.md; BENCH=ingest is one section, BENCH=outage one that takes long
	@$(BIN)/livegraph engines install
	@go run ./test/bench/report -only '$(BENCH)'

$(TOOLS)/%: internal/tools/go.mod internal/tools/go.sum
	@echo "building the tool $*"
	@cd internal/tools && go build -o $(TOOLS)/ $$(go list -f '{{.ImportPath}}' tool | grep '/$*$$')

# These have a go.mod of their own: they need other versions of what the others need too.
$(TOOLS)/gitleaks: SECURITY_TOOL := github.com/zricethezav/gitleaks/v8
$(TOOLS)/govulncheck: SECURITY_TOOL := golang.org/x/vuln/cmd/govulncheck
$(TOOLS)/gitleaks $(TOOLS)/govulncheck: internal/tools/security/go.mod internal/tools/security/go.sum
	@echo "building the tool $(notdir $@)"
	@cd internal/tools/security && go build -o $(TOOLS)/ $(SECURITY_TOOL)

$(TOOLS)/goreleaser: RELEASE_TOOL := github.com/goreleaser/goreleaser/v2
$(TOOLS)/cyclonedx-gomod: RELEASE_TOOL := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
$(TOOLS)/goreleaser $(TOOLS)/cyclonedx-gomod: internal/tools/release/go.mod internal/tools/release/go.sum
	@echo "building the tool $(notdir $@)"
	@cd internal/tools/release && go build -o $(TOOLS)/ $(RELEASE_TOOL)

$(TOOLS)/air: internal/tools/dev/go.mod internal/tools/dev/go.sum
	@echo "building the tool $(notdir $@)"
	@cd internal/tools/dev && go build -o $(TOOLS)/ github.com/air-verse/air

# These linters need the SSA form of all packages, which takes a third of the time of all linters. make test leaves
# them, and the rules of eslint, which need the types of the page, to make lint and make test-all.
SLOW_LINTERS := bodyclose,fatcontext,gosec,noctx,rowserrcheck,sqlclosecheck,unparam,wastedassign

.PHONY: lint lint-quick
lint-quick: LINT_FLAGS := --disable=$(SLOW_LINTERS)
lint-quick: lint-files $(PAGE_DEPS)
	@cd web && npm run lint:quick --silent

lint: $(BIN)/.page-linted lint-files ## golangci-lint, with the import rules of the design; the page's sources; Python

.PHONY: lint-files
lint-files: $(TOOLS)/golangci-lint $(LINT_PYTHON)
	@$(BIN)/lint-python/bin/ruff check --no-cache --quiet .
	@$(BIN)/lint-python/bin/ruff format --no-cache --quiet --check . || { echo "make python-format formats them" >&2; exit 1; }
	@$(TOOLS)/golangci-lint run $(LINT_FLAGS) ./...
	@cd sdk/go && $(TOOLS)/golangci-lint run $(LINT_FLAGS) --config ../../.golangci.yml ./...

.PHONY: python-format
python-format: $(LINT_PYTHON) ## format Python, and correct what can be corrected automatically
	@$(BIN)/lint-python/bin/ruff check --no-cache --quiet --fix .
	@$(BIN)/lint-python/bin/ruff format --no-cache --quiet .

.PHONY: generate
generate: $(TOOLS)/buf $(TOOLS)/protoc-gen-go ## make the generated code again
	@cd schemas && PATH="$(TOOLS):$$PATH" $(TOOLS)/buf generate --path events
	@go run ./cmd/livegraph config --reference > docs/settings.md

.PHONY: verify
verify: lint generate licences secrets vulnerabilities ## fail if generated code or go.mod is stale, or what is depended on or committed is not in order (OFFLINE=1: say what was not asked)
	@cd schemas && $(TOOLS)/buf lint
	@go mod tidy -diff
	@go vet ./...
	@cd sdk/go && go mod tidy -diff && go vet ./...
	@cd internal/tools && go test ./...
	@git diff --exit-code -- schemas docs/settings.md || { echo "generated code is stale: commit what 'make generate' made"; exit 1; }

# The licences' texts, which the binary shows by `version --notices`.
NOTICES := internal/app/cli/notices.txt

.PHONY: notices
notices: $(TOOLS)/licences $(PAGE_DEPS) ## write anew what the licences of what is in the binary ask to be told
	@$(TOOLS)/licences notices > $(BIN)/notices.txt && mv $(BIN)/notices.txt $(NOTICES)

.PHONY: licences
licences: $(TOOLS)/licences $(PAGE_DEPS) $(SDK_TYPESCRIPT) $(INFLUX_PYTHON) $(MQTT_PYTHON) $(NOTEBOOKS_PYTHON) $(OTEL_PYTHON) $(SDK_PYTHON) build ## fail if the licence of a dependency is not allowed, or a notice is missing
	@$(BIN)/livegraph engines install
	@$(TOOLS)/licences check
	@$(TOOLS)/licences notices | cmp -s - $(NOTICES) || { echo "$(NOTICES) is stale: commit what 'make notices' made"; exit 1; }

.PHONY: secrets
secrets: $(TOOLS)/gitleaks ## fail if something that looks like a secret is, or was, committed, or is about to be
	@$(TOOLS)/gitleaks git --no-banner --redact --log-level=warn .
	@$(TOOLS)/gitleaks git --no-banner --redact --log-level=warn --pre-commit .

.PHONY: vulnerabilities
vulnerabilities: $(TOOLS)/govulncheck ## fail if a dependency has a known vulnerability, or none can be asked about (OFFLINE=1: say so)
	@TOOLS=$(TOOLS) internal/tools/vulnerabilities.sh

# How goreleaser is called. Without a Docker engine nobody can build the image.
GORELEASER = PATH="$(TOOLS):$$PATH" RELEASE=$(RELEASE) COMMIT=$(COMMIT) $(TOOLS)/goreleaser
NO_DOCKER  = $(shell docker buildx version >/dev/null 2>&1 && docker info >/dev/null 2>&1 || echo --skip=docker)

.PHONY: release-check
release-check: prerequisites $(PAGE) $(TOOLS)/goreleaser $(TOOLS)/cyclonedx-gomod ## build in dist/ what a release has, and publish nothing
	@$(GORELEASER) check --quiet
	@$(GORELEASER) release --snapshot --clean $(NO_DOCKER)
	@cd dist && sha256sum --check --quiet checksums.txt
	@$(if $(NO_DOCKER),echo "NOT BUILT: the image. It needs a Docker engine with buildx." >&2)

.PHONY: release
release: prerequisites $(PAGE) $(TOOLS)/goreleaser $(TOOLS)/cyclonedx-gomod ## publish the tag v$(cat VERSION) that is checked out; GITHUB_TOKEN has to be set
	@mkdir -p $(BIN) && awk '/^## /{on = index($$0, "## [$(RELEASE)]") == 1; next} on && !/^\[/' CHANGELOG.md > $(BIN)/release-notes.md
	@$(GORELEASER) release --clean --release-notes $(BIN)/release-notes.md

.env:
	@(umask 077; awk '/^[A-Z]+_PASSWORD=$$/ {c = "openssl rand -hex 24"; c | getline s; close(c); $$0 = $$0 s} 1' deploy/.env.example > $@)
	@echo "made .env with fresh passwords: keep it as long as the volumes"

.PHONY: up
up: .env ## start the production stack (Docker Compose 2.23.1 or newer; PROFILE=monitoring: Prometheus and Grafana, too)
	@docker compose $(if $(PROFILE),--profile $(PROFILE)) up --build --detach --wait

.PHONY: down
down: ## stop the production stack (the volumes stay)
	@docker compose --profile monitoring down

.PHONY: smoke
smoke: ## try the production stack on a machine with Docker
	@deploy/smoke.sh

.PHONY: clean
clean: ## remove what was built (not the data)
	@rm -rf $(BIN) web/node_modules
	@find web/dist -mindepth 1 ! -name .keep -delete
