# Targets are thin: each is one command that can also be typed. `make help` lists them.
SHELL := bash
export GOFLAGS ?= -buildvcs=false
BIN := bin
SANDBOX_PKGS = $(shell grep -rlE '^//go:build linux && !cgo' --include='*_test.go' . | xargs -r -n1 dirname | sort -u)

.PHONY: help model-given setup build demo demo-negative test check race sandbox selftest bench fuzz clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: ## check tools, fetch what the module needs (works offline once fetched)
	@scripts/setup

build: setup ## the product binaries, statically linked
	CGO_ENABLED=0 go build -trimpath -o $(BIN)/ ./cmd/agent-mcp

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

race: ## logic, with the race detector
	CGO_ENABLED=1 go test -race ./...

sandbox: ## what makes real sandboxes, through the product binary
	CGO_ENABLED=0 go test -count=1 $(SANDBOX_PKGS)

selftest: ## the security matrix of this machine
	CGO_ENABLED=0 go run ./cmd/sandbox-selftest $(if $(CGROUP),-cgroup '$(CGROUP)')

bench: build ## ratios against plain processes, bubblewrap, a bare HTTP client and a bare SDK server
	@CGO_ENABLED=0 go run ./test/bench

fuzz: ## every decoder for a short while each (FUZZTIME=30s)
	@scripts/fuzz

clean:
	rm -f $(BIN)/agent-mcp
