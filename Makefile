# Targets are thin: each is one command that can also be typed. `make help` lists them.
SHELL := bash
export GOFLAGS ?= -buildvcs=false
BIN := bin
SANDBOX_PKGS = $(shell grep -rlE '^//go:build linux && !cgo' --include='*_test.go' . | xargs -r -n1 dirname | sort -u)

.PHONY: help model-given setup build demo demo-negative test check race sandbox work selftest network contract contract-update conformance clients http-soak attack bench bench-relay e2e-core relay page page-check e2e-relay e2e-relay-short mutants fuzz fuzz-frames clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: ## check tools, fetch what the module needs (works offline once fetched)
	@scripts/setup

build: setup ## the product binaries, statically linked
	CGO_ENABLED=0 go build -trimpath -o $(BIN)/ ./cmd/agent-mcp ./cmd/relaycodex

demo: model-given build ## the newcomer's run; OLLAMA=URL MODEL=name: a real model; CGROUP=dir: limits as an ordinary user
	@scripts/demo $(if $(OLLAMA),-ollama '$(OLLAMA)' -model '$(MODEL)') $(if $(CGROUP),-cgroup '$(CGROUP)')

model-given:
	@$(if $(OLLAMA),$(if $(MODEL),,echo "make demo OLLAMA=URL also needs MODEL=name" >&2; exit 2))

demo-negative: build ## six lying models, each must end failed
	@scripts/demo -negative $(if $(CGROUP),-cgroup '$(CGROUP)')

test: setup check race sandbox ## everything that must pass before a change lands
	@echo "make test: all passed"

check: ## formatting, vet for three systems, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	GOOS=windows go vet ./...
	GOOS=darwin go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...

race: ## logic, with the race detector (the rules of the house read files in one goroutine)
	CGO_ENABLED=1 go test -race -timeout 30m $$(go list ./... | grep -vx sekisho/arch)
	go test ./arch

sandbox: ## what makes real sandboxes, through the product binary
	CGO_ENABLED=0 go test -count=1 -timeout 30m $(SANDBOX_PKGS)

work: setup ## real development work inside the sandbox: Go, Python, npm, node, git, C; a build that is cancelled
	@scripts/work $(if $(CGROUP),-cgroup '$(CGROUP)') $(if $(ONLY),-only '$(ONLY)')

selftest: ## the security matrix of this machine
	CGO_ENABLED=0 go run ./cmd/sandbox-selftest $(if $(CGROUP),-cgroup '$(CGROUP)')

network: setup ## what leaves a sandbox with a network, packet by packet, in namespaces of its own (needs root)
	@command -v ip >/dev/null || { echo "network: ip is missing, for example: apt-get install iproute2" >&2; exit 1; }
	@CGO_ENABLED=0 go run ./test/network

.PHONY: soak machines
soak: ## 200 tasks in a row through the real broker: what is different afterwards (TASKS=n)
	CGO_ENABLED=0 go test -count=1 -timeout 20m -v -run TestManyTasks ./test/soak -tasks $(or $(TASKS),200)

attack: build ## every attack case through the built program, as root and as an ordinary user (ONLY=5,53, RACE=seconds, TRY='script', CGROUP=dir)
	@CGO_ENABLED=0 go run ./test/attack $(if $(ONLY),-only '$(ONLY)') $(if $(RACE),-race $(RACE)s) $(if $(TRY),-try '$(TRY)') $(if $(CGROUP),-cgroup '$(CGROUP)')

machines: ## virtual machines with other kernels: control groups v2, systemd, and what can be missing (MACHINE=name; needs qemu)
	@scripts/machines $(MACHINE)

contract: ## the pinned codex CLIs from npm: digests, four generated surfaces, differences, fit (CONTRACT_REPORT=file)
	@go run ./test/contract $(if $(CONTRACT_REPORT),-report '$(CONTRACT_REPORT)')
	go test -tags realcodex -count=1 ./internal/relay/contract ./test/fakes/appserver

contract-update: ## record what the pinned CLIs generate; review the change like code
	@go run ./test/contract -update

conformance: setup ## the MCP conformance suite from npm: two requirement sets and the Tasks extension, over HTTP
	@go run ./test/conformance

clients: setup ## foreign MCP clients from npm and Go, pinned: each runs agent_run to its end, over stdio and HTTP
	@go run ./test/clients

.PHONY: race-fs
race-fs: ## a minute of swapped directories and links against every file tool and process start (RACE=seconds)
	@CGO_ENABLED=0 go run ./test/race-fs -seconds $(or $(RACE),60)

bench: build ## ratios against plain processes, bubblewrap, a bare HTTP client and a bare SDK server
	@CGO_ENABLED=0 go run ./test/bench

page: web/node_modules ## build the page of relaycodex into internal/relay/web/dist (needs node 20 and npm); commit the result
	@cd web && node build.mjs

page-check: web/node_modules ## types and unit tests of the page; fails when the committed page is not what web/ builds
	@cd web && node check.mjs

web/node_modules: web/package-lock.json
	@cd web && npm ci --ignore-scripts --no-audit --no-fund && touch node_modules

http-soak: setup ## 1,000 stdio clients one after another, 10,000 HTTP calls: nothing gathers
	CGO_ENABLED=0 SEKISHO_SOAK=1 go test -count=1 -timeout 30m -run 'TestSequentialClients|TestSoakLeavesNothing' -v ./test/stdio ./test/overhttp

relay: build ## try relaycodex: pinned codex from npm, a scripted model, nothing kept; CODEX_HOME=~/.codex: your own account (DIR=where it works)
	@codex="$$(scripts/codex 0.159.1)" && CGO_ENABLED=0 go build -o $(BIN)/newcomer ./test/newcomer && exec $(BIN)/newcomer -relay $(BIN)/relaycodex -codex "$$codex" $(if $(filter command line,$(origin CODEX_HOME)),-codex-home '$(CODEX_HOME)') $(if $(DIR),-dir '$(DIR)')

bench-relay: ## ratios against codex-acp from npm, same codex, same thread (needs npm and, once, the network)
	@CGO_ENABLED=0 go run ./test/bench-relay
	@node test/e2e-relay/run.mjs --prepare && node test/e2e-relay/bench.mjs

e2e-core: setup ## relaycodex against the real Codex CLI (three versions), headless
	@for v in 0.159.1 0.155.1 0.171.0; do scripts/codex $$v >/dev/null; done
	CGO_ENABLED=0 go test -count=1 -timeout 20m -tags realcodex ./test/e2e-core ./test/newcomer ./internal/relay/transport ./internal/relay/ask

mutants: ## take the product's guards out one at a time; a named test must notice each (RUN=regexp)
	@go run ./test/mutants $(if $(RUN),-run '$(RUN)')

.PHONY: mutants-short
mutants-short: ## the same with one guard of each family
	@go run ./test/mutants -short

e2e-relay: setup ## the page in a real Chromium with the real codex: scenarios, attacks, accessibility, pictures (docs/screenshots)
	@E2E_SHOTS_DIR=$(CURDIR)/docs/screenshots node test/e2e-relay/run.mjs

e2e-relay-short: setup ## one scenario for each kind of request through the page, and what attacks the page (installs chromium if missing, as root on Debian)
	@node test/e2e-relay/run.mjs --short

fuzz: ## every decoder for a short while each (FUZZTIME=30s)
	@scripts/fuzz

fuzz-frames: ## a million frames, most of them mutations of recorded ones, through the worker; then a turn
	CGO_ENABLED=0 go test -count=1 -timeout 20m -run 'TestReport06Storm' -v ./test/reports -frames 1000000

clean: ## remove the product binaries
	rm -f $(BIN)/agent-mcp $(BIN)/relaycodex $(BIN)/newcomer
