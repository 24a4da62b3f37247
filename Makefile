# The set-up that a fresh Debian machine with Rust and make needs: `make demo`, `make test`, `make install`.

CARGO ?= cargo
INSTALL ?= install
CC ?= cc
PREFIX ?= /usr/local
DESTDIR ?=

TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
RELEASE := $(TARGET)/release
# A build of its own: `static-link` changes the agent's hooks, and the two must not overwrite each other.
STATIC := $(TARGET)/static
DEMO := $(TARGET)/demo

BIN = $(DESTDIR)$(PREFIX)/bin
# carom looks for its agent in ../lib/carom from its own executable.
LIB = $(DESTDIR)$(PREFIX)/lib/carom
INCLUDE = $(DESTDIR)$(PREFIX)/include
MAN = $(DESTDIR)$(PREFIX)/share/man/man1
BASH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
LICENSES = $(DESTDIR)$(PREFIX)/share/doc/carom

.DEFAULT_GOAL := help
.PHONY: help demo picture test test-release miri lint tidy release static install install-built uninstall setup

help: ## list these targets
	@echo 'usage: make TARGET'
	@echo
	@sed -n 's/^\([a-z-]*\):.* ## /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18
	@echo
	@echo 'make install PREFIX=$$HOME/.local needs no root.'
	@echo 'For /usr/local: make release static && sudo make install-built'

setup: ## install the Debian packages that a build needs, where they are missing
	@scripts/setup build

demo: release $(DEMO)/counters ## profile a bundled program that suffers from false sharing
	cd $(DEMO) && $(RELEASE)/carom share --html $(DEMO)/demo.html $(DEMO)/counters
	@echo
	@echo 'The HTML report: file://$(DEMO)/demo.html'

picture: demo ## renew docs/pictures/report.png, the page of the demonstration
	chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1240 --virtual-time-budget=3000 \
		--user-data-dir=$(DEMO)/chromium --screenshot=docs/pictures/report.png file://$(DEMO)/demo.html

# Compiled from the root, so that the report names the source as a person here would.
$(DEMO)/counters: programs/targets/counters.c | setup
	@mkdir -p $(DEMO)
	$(CC) -g -O2 -pthread -o $@ $<

# The end-to-end tests run the binaries and the agent of the same profile, hence the build before them. Tests that lacked
# something are listed, and fail where CAROM_EXPECT names what they lacked.
test: ## build, then run all tests
	@scripts/setup test
	$(CARGO) build --workspace
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		set -ex; $(CARGO) nextest run --workspace --no-fail-fast; $(CARGO) test --workspace --doc; \
	else \
		set -ex; $(CARGO) test --workspace --no-fail-fast; \
	fi
	@scripts/skipped $(TARGET)/nextest/default/junit.xml

# What is installed is the release build: its optimiser may find what the other's does not.
test-release: ## run the end-to-end tests on the release build
	@scripts/setup test
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		set -ex; $(CARGO) nextest run --release -p carom --test robust --no-fail-fast; \
	else \
		set -ex; $(CARGO) test --release -p carom --test robust --no-fail-fast; \
	fi

# Needs a nightly toolchain: rustup component add miri rust-src --toolchain nightly. These crates contain no unsafe code.
# Miri executes their atomic operations in orders that the processor does not produce: hence the tests of what threads
# share. Other tests take minutes or hours in an interpreter.
MIRI = MIRIFLAGS=-Zmiri-disable-isolation $(CARGO) +nightly miri test
miri: ## run tests of memory that threads share under Miri, which tries other orders of atomic operations
	$(MIRI) -p carom-base-detect --lib --test timelines --test processes --test board_stress
	$(MIRI) -p carom-base-reuse --lib -- sampled::slot sampled::state

lint: setup tidy ## check format, lints, licences and the repository's own rules
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
		set -ex; $(CARGO) deny check bans licenses sources; \
	else \
		echo 'lint: cargo-deny is not installed, so licences were not checked (cargo install --locked cargo-deny)'; \
	fi

tidy: setup ## check the repository's own rules only
	$(CARGO) run --quiet -p xtask -- tidy

release: setup ## build carom, its agent and the workloads
	$(CARGO) build --release -p carom -p carom-collect-agent -p carom-programs

static: setup ## build the agent for statically linked programs
	$(CARGO) build --release -p carom-collect-agent --features static-link --target-dir $(STATIC)

# A second make, so that nothing is copied before it is built, under -j too.
install: release static ## build and copy everything to PREFIX (default /usr/local), under DESTDIR
	@$(MAKE) --no-print-directory install-built

install-built: ## copy what `make release static` built
	$(INSTALL) -d $(BIN) $(LIB) $(INCLUDE) $(MAN) $(BASH_COMPLETIONS) $(ZSH_COMPLETIONS) $(FISH_COMPLETIONS) $(LICENSES)
	$(INSTALL) -m 755 $(RELEASE)/carom $(RELEASE)/carom-workloads $(BIN)
	$(INSTALL) -m 755 $(RELEASE)/libcarom_agent.so $(LIB)
	$(INSTALL) -m 644 $(STATIC)/release/libcarom_agent.a $(LIB)
	$(INSTALL) -m 644 include/carom.h $(INCLUDE)
	$(RELEASE)/carom man $(MAN)
	$(RELEASE)/carom completions bash >$(BASH_COMPLETIONS)/carom
	$(RELEASE)/carom completions zsh >$(ZSH_COMPLETIONS)/_carom
	$(RELEASE)/carom completions fish >$(FISH_COMPLETIONS)/carom.fish
	$(INSTALL) -m 644 LICENSE-MIT LICENSE-APACHE CHANGELOG.md $(LICENSES)

# The folders that other programs share stay.
uninstall: ## remove what install copied
	rm -f $(BIN)/carom $(BIN)/carom-workloads
	rm -f $(LIB)/libcarom_agent.so $(LIB)/libcarom_agent.a
	rm -f $(INCLUDE)/carom.h
	rm -f $(MAN)/carom.1 $(MAN)/carom-*.1
	rm -f $(BASH_COMPLETIONS)/carom $(ZSH_COMPLETIONS)/_carom $(FISH_COMPLETIONS)/carom.fish
	rm -f $(LICENSES)/LICENSE-MIT $(LICENSES)/LICENSE-APACHE $(LICENSES)/CHANGELOG.md
	rmdir $(LIB) $(LICENSES) 2>/dev/null || true
