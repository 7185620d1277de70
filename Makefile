# Run `make help` for a list of targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the binary (target/release/trainmesh)
	$(CARGO) build --release --locked

.PHONY: dist
dist: ## Build the size-optimized release binary (target/dist/trainmesh)
	$(CARGO) build --profile dist --locked

# Target of static binaries; requires `rustup target add` and Debian's musl-tools.
MUSL ?= $(shell uname -m)-unknown-linux-musl
IMAGE ?= trainmesh:$(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)

.PHONY: static
static: ## Build the static binary of the image (rustup, musl-tools)
	rustup target add $(MUSL)
	$(CARGO) build --profile dist --locked --target $(MUSL)

# Seconds since 1970. An archive of the repository has no commits, but its files have the time of the commit.
COMMIT_TIME = $(shell git log -1 --format=%ct 2>/dev/null || stat --format=%Y Cargo.toml)
.PHONY: image
image: static ## Build the container image IMAGE into target/image.tar (buildah, rustup, musl-tools)
	mkdir -p target/image
	cp target/$(MUSL)/dist/trainmesh target/image/
	buildah --storage-driver vfs build --isolation chroot --tag $(IMAGE) --file Containerfile --timestamp $(COMMIT_TIME) \
	  --build-arg VERSION=$(lastword $(subst :, ,$(IMAGE))) --build-arg REVISION=$$(git rev-parse HEAD 2>/dev/null || echo unknown) \
	  --build-arg CREATED=$$(date --utc --date=@$(COMMIT_TIME) +%FT%TZ) target/image
	rm -f target/image.tar
	buildah --storage-driver vfs push $(IMAGE) oci-archive:target/image.tar:$(IMAGE)

# Registry that the chart and install.yaml of the release name, and the addresses of the repository and of the downloads.
REGISTRY ?=
SOURCE ?=
URL ?=

.PHONY: release
release: ## Build and check the assets of a release in target/release-assets (REGISTRY=registry.example.com/ml; rustup, Go, root)
	REGISTRY="$(REGISTRY)" SOURCE="$(SOURCE)" URL="$(URL)" release/run

.PHONY: release-reproduce
release-reproduce: ## Build the assets again in another directory, and compare them byte for byte (needs `make release`)
	REGISTRY="$(REGISTRY)" SOURCE="$(SOURCE)" URL="$(URL)" release/reproduce

.PHONY: release-sign
release-sign: ## Sign the assets, and the image and the chart in REGISTRY, with cosign (keyless, or with COSIGN_KEY=<file>)
	REGISTRY="$(REGISTRY)" release/sign

.PHONY: release-try
release-try: ## Install the assets on the cluster from a registry, and run a job (needs `make release` and `make cluster`)
	release/try

.PHONY: chart
chart: ## Check the chart and config/kustomize without a cluster
	tests/chart/run

.PHONY: chart-update
chart-update: ## Regenerate the chart's schema, its README and config/kustomize/base
	tests/chart/run --update

.PHONY: test
test: ## Run all tests; as root, also on a real cluster (the first run compiles Kubernetes)
	tests/run

.PHONY: test-quick
test-quick: ## Run the tests that need no cluster
	$(CARGO) test --locked

.PHONY: same
same: ## Compare all output and responses with those of commit BASE [default: merge base with main], byte for byte
	tests/same/run

.PHONY: cluster
cluster: ## Start a real Kubernetes cluster and print how to use it
	tests/cluster/cluster up

.PHONY: cluster-down
cluster-down: ## Stop the cluster and remove its files
	tests/cluster/cluster down

.PHONY: lint
lint: ## Check formatting and run clippy
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets --all-features -- --deny warnings
	$(CARGO) clippy --locked --test '*' --all-features -- --deny warnings
	$(CARGO) clippy --locked --no-default-features -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --locked --no-deps --quiet

.PHONY: lint-core
lint-core: ## Check that the core compiles to wasm32: no dependency uses files, sockets or threads (rustup)
	rustup target add wasm32-unknown-unknown
	$(CARGO) check --locked --package trainmesh-core --no-default-features --target wasm32-unknown-unknown

# SC2317: functions are called by name, as in `check DESCRIPTION FUNCTION…`.
SHELL_SCRIPTS := .ci/run benches/cluster/run $(addprefix release/,check reproduce run sign try) tests/run tests/chart/run tests/chart/schemas tests/nccl-table/run \
  $(addprefix tests/matrix/,page previous run) tests/same/run tests/cluster/cluster tests/cluster/selftest tests/cluster/schedulers $(wildcard tests/cluster/lib/*.sh)
GO_MODULES := benches/cluster release/tool tests/oracle tests/chart/tool tests/chart/apiserver $(addprefix tests/cluster/tools/,cert-manager device-plugin images mesh prometheus)

.PHONY: lint-tools
lint-tools: ## Check the shell scripts, Go programs and workflows (shellcheck, Go)
	shellcheck --exclude=SC2317 $(SHELL_SCRIPTS)
	tests/cluster/cluster with actionlint -- actionlint .github/workflows/*.yaml
	for module in $(GO_MODULES); do (cd $$module && go vet ./...); done

# Directory with a checkout of NCCL.
NCCL ?=

.PHONY: nccl-table
nccl-table: ## List the differences between the table of NCCL's variables and the checkout NCCL=<directory>
	tests/nccl-table/run $(NCCL)

.PHONY: lint-fuzz
lint-fuzz: ## Check that the fuzz targets compile (stable Rust; run them with `make fuzz`)
	$(CARGO) check --locked --manifest-path fuzz/Cargo.toml --target-dir target --bins --examples

.PHONY: deny
deny: ## Check licenses, sources and duplicates of dependencies
	@command -v cargo-deny > /dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny --locked check bans licenses sources

.PHONY: advisories
advisories: ## Look up known vulnerabilities of dependencies (needs access to the advisory database)
	@command -v cargo-deny > /dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny --locked check advisories

# Shard of the mutants to test, as k/n.
SHARD ?= 0/1

.PHONY: mutants
mutants: ## Check that a test catches every mutant of the core's decision logic (SHARD=k/n, default: all)
	@command -v cargo-mutants > /dev/null || $(CARGO) install --locked cargo-mutants
	PROPTEST_MAX_SHRINK_TIME=5000 $(CARGO) mutants --package trainmesh-core --shard $(SHARD) --output target

.PHONY: soak
soak: ## Run the long tests: pods, gang schedulers, operators, diagnosis, certificates, attacks, versions, the release (needs `make cluster`)
	CORPUS=10000 tests/cluster/cluster exec -- $(CARGO) test --offline --locked --features cluster-tests \
	  --test cluster_admission -- --nocapture corpus::
	ROTATION_SECONDS=300 RUST_TEST_THREADS=3 tests/cluster/cluster exec -- $(CARGO) test --offline --locked --features cluster-tests \
	  --test cluster_admission -- --nocapture certificates::continuity::no_call_fails
	tests/cluster/cluster build chart
	tests/cluster/cluster exec -- tests/cluster/cluster with chart -- $(CARGO) test --offline --locked --features cluster-tests \
	  --test cluster_install -- --nocapture --ignored --skip previous::
	tests/cluster/cluster operator cert-manager stop
	tests/cluster/schedulers native volcano coscheduling
	tests/cluster/cluster build mesh kwok coredns training-operator mpi-operator jobset trainer lws kuberay yunikorn kueue koordinator kai
	tests/cluster/cluster mesh image
	tests/cluster/cluster exec -- $(CARGO) test --offline --locked --features cluster-tests --test cluster_gangs -- \
	  --ignored --nocapture --test-threads=1
	tests/cluster/cluster exec -- $(CARGO) test --offline --locked --features cluster-tests --test cluster_controller -- \
	  --ignored --nocapture
	tests/cluster/cluster exec -- $(CARGO) test --offline --locked --features cluster-tests --test cluster_diagnosis -- \
	  --ignored --nocapture
	$(CARGO) build --release --locked
	TRAINMESH_PROGRAM=target/release/trainmesh tests/cluster/cluster exec -- tests/cluster/cluster with chart -- \
	  $(CARGO) test --offline --locked --features cluster-tests --test cluster_attacks -- --nocapture
	$(MAKE) attack
	$(MAKE) release release-reproduce release-try
	$(MAKE) matrix

.PHONY: matrix
matrix: ## Test each supported version of Kubernetes, Istio and trainmesh itself, and write docs/support-matrix.md
	tests/matrix/run

.PHONY: attack
attack: static ## Run all attacks on the release binary at once for ATTACK_SECONDS (needs `make cluster`)
	tests/cluster/cluster build chart
	TRAINMESH_PROGRAM=target/$(MUSL)/dist/trainmesh ATTACK_SECONDS=$${ATTACK_SECONDS:-60} tests/cluster/cluster exec -- tests/cluster/cluster with chart -- \
	  $(CARGO) test --offline --locked --features cluster-tests --test cluster_attacks -- --nocapture mixed::

# Fuzz targets with their maximum input length: longer inputs are slower and find nothing else.
FUZZ_TARGETS ?= review:65536 proxy_config:4096 manifest:16384 configuration:16384
FUZZ_SECONDS ?= 300

.PHONY: fuzz
fuzz: ## Fuzz reviews, annotations, manifests and configurations for FUZZ_SECONDS in total (nightly Rust)
	@command -v cargo-fuzz > /dev/null || $(CARGO) install --locked cargo-fuzz
	cd fuzz && cargo +nightly run --locked --example seed
	for target in $(FUZZ_TARGETS); do \
	  cargo +nightly fuzz run "$${target%:*}" -- -seed=1 -timeout=10 -max_len="$${target#*:}" -print_final_stats=1 \
	    -max_total_time=$$(($(FUZZ_SECONDS) / $(words $(FUZZ_TARGETS)))); \
	done

.PHONY: bench-cluster
bench-cluster: dist ## Benchmark the webhook behind the apiserver (needs `make cluster`)
	tests/cluster/cluster exec -- benches/cluster/run admission

.PHONY: bench-controller
bench-controller: dist ## Benchmark the controller with real pods and with thousands of fake ones (needs `make cluster`)
	tests/cluster/cluster build mesh kwok
	tests/cluster/cluster mesh image
	tests/cluster/cluster exec -- benches/cluster/run controller

.PHONY: bench-mesh
bench-mesh: ## Measure connections between ranks with and without Envoy (needs `make cluster`)
	tests/cluster/cluster exec -- $(CARGO) test --locked --features cluster-tests --test cluster_mesh -- --ignored --nocapture

.PHONY: bench
bench: ## Run the benchmarks (see docs/performance.md)
	$(CARGO) bench --locked

.PHONY: golden
golden: ## Regenerate the golden files and generated pages; review the diff before you commit it
	INSTA_UPDATE=always UPDATE_DOCS=1 $(CARGO) test --locked --test cli -- golden:: layout:: documentation::
	UPDATE_DOCS=1 $(CARGO) test --locked --test unit -- docs:: the_schema_file
