# SPDX-License-Identifier: Apache-2.0 OR MIT
#
#   make demo      see fgio work on a real PostgreSQL (about 15 minutes after the downloads)
#   make test      all tests, native and in the lab
#
#   make build     the modules for both kernels, fgio, fgiod and libfgio
#   make lib       libfgio alone
#   make integrations  the PostgreSQL extension, the Redis module, the MariaDB plugin
#   make install   on this host: the module for the running kernel, fgio, fgiod and its profiles, libfgio
#   make packages  Debian packages of all that, into build/packages
#   make lint      formatting and static checks of every language
#   make fuzz      libFuzzer on core, SECONDS=20 each
#   make stress    1,000 scheduler switches and 100 load/unload cycles on each kernel (long)
#   make stress-random an hour (MINUTES=60) of anything by chance on each kernel: parameters, elevators, loads, tags
#   make debug-check all scenarios and most checks on a debug kernel: KASAN, lockdep, leaks (very long);
#                  GUESTS=PATTERN: those guests alone (tests/debug-check --list)
#   make boot      the module's interface in one boot of a kernel: what a change has to pass at least (KERNEL=6.12)
#   make scenarios what a foreground thread waits for, one thing at a time: the table (KERNEL=6.12)
#   make ablation  the demo with each mechanism switched off in turn (about half an hour)
#   make results   every experiment of docs/results again (long)
#   make clean     all output but the cache of downloads; make distclean: that too

KERNELS ?= 6.12 6.1
KERNEL ?= 6.12
PREFIX ?= /usr/local
OUT ?= build/demo
SECONDS ?= 20
MINUTES ?= 60
SETUP ?= ./setup
PARALLEL := -j$(shell nproc) --output-sync
CARGO := cargo
CARGO_TARGET ?= build/cargo
CARGO_FLAGS := --manifest-path tools/Cargo.toml --target-dir $(CARGO_TARGET) --locked
# Of the modules for tests; with other flags than the last ones, all is compiled anew.
MODULE_FLAGS ?=
UNITS ?= /usr/lib/systemd/system
UDEV_RULES ?= /usr/lib/udev/rules.d
SYSUSERS ?= /usr/lib/sysusers.d
BASH_COMPLETIONS ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS ?= $(PREFIX)/share/fish/vendor_completions.d

.PHONY: all build modules command lib integrations demo test test-native test-private test-tools test-lab boot scenarios ablation \
	lint fuzz stress stress-random debug-check results install install-module install-command install-lib packages \
	clean distclean setup-build setup-lab

all: build

setup-build:
	@$(SETUP) core kmod lib tools

setup-lab: setup-build
	@lab/setup

modules: setup-build
	@for kernel in $(KERNELS); do $(MAKE) --no-print-directory $(PARALLEL) -C kmod KERNEL=$$kernel $(MODULE_FLAGS) || exit; done

command: setup-build
	$(CARGO) build --release $(CARGO_FLAGS)

lib: setup-build
	@$(MAKE) --no-print-directory -C lib

integrations: lib
	@$(SETUP) integrations
	@mkdir -p build/postgresql
	@$(MAKE) --no-print-directory -C build/postgresql -f $(CURDIR)/integrations/postgresql/Makefile
	@$(MAKE) --no-print-directory -C integrations/redis
	@$(MAKE) --no-print-directory -C integrations/mariadb

build: modules command lib

demo: setup-lab command
	@$(MAKE) --no-print-directory $(PARALLEL) -C kmod KERNEL=6.12
	@lab/run first-light --demo --out $(OUT)

test: test-native test-lab

test-native: setup-lab integrations
	@$(MAKE) --no-print-directory $(PARALLEL) -C core test
	@$(MAKE) --no-print-directory -C lib test test-bindings
	@for kernel in $(KERNELS); do kmod/fetch-kernel $$kernel >/dev/null || exit; done
	@$(MAKE) --no-print-directory $(PARALLEL) test-private test-tools

# Parts of test-native: the first keeps one processor busy. What they start is not this make's.
test-private:
	MAKEFLAGS= build/venv/bin/python -m pytest -q kmod/private integrations tests/test_gone.py

test-tools:
	MAKEFLAGS= $(CARGO) test $(CARGO_FLAGS)

test-lab: setup-lab build integrations
	build/venv/bin/python -m pytest tests

boot: setup-lab
	@$(MAKE) --no-print-directory $(PARALLEL) -C kmod KERNEL=$(KERNEL)
	@FGIO_KERNELS=$(KERNEL) build/venv/bin/python -m pytest tests/test_scenarios.py -k "$(KERNEL)-interface"

scenarios: setup-lab build
	@lab/run scenarios --kernel $(KERNEL) --out build/results/scenarios-$(KERNEL)

ablation: setup-lab build
	@lab/run ablation --out build/results/ablation

lint: setup-lab
	@$(SETUP) scripts
	@scripts/lint

fuzz: setup-build
	@$(MAKE) --no-print-directory -C core fuzz SECONDS=$(SECONDS)

stress: setup-lab modules
	@for kernel in $(KERNELS); do \
		tests/stress --switches 1000 --cycles 100 --kernel $$kernel \
			--out docs/results/stress-$$kernel || exit; \
	done

stress-random: setup-lab modules
	@for kernel in $(KERNELS); do \
		tests/stress --random $$(($(MINUTES) * 60)) --kernel $$kernel \
			--out build/stress-random-$$kernel || exit; \
	done

debug-check: setup-lab command
	@lab/debug-kernel >/dev/null
	@$(MAKE) --no-print-directory $(PARALLEL) -C kmod KERNEL=6.12-debug
	@build/venv/bin/python tests/debug-check --out docs/results/debug-6.12 $(if $(GUESTS),--only '$(GUESTS)')

results: setup-lab build integrations
	@scripts/results

install: command lib
	$(MAKE) --no-print-directory install-module install-command install-lib
	$(if $(DESTDIR),,depmod)
	$(if $(DESTDIR),,systemd-sysusers $(SYSUSERS)/fgio.conf)
	$(if $(DESTDIR),,-udevadm control --reload && udevadm trigger --sysname-match=fgio)

install-module:
	$(MAKE) -C kmod KDIR=/lib/modules/$$(uname -r)/build MODULES=fgio
	install -D -m 0644 build/kmod/$$(uname -r)/fgio.ko \
		$(DESTDIR)/lib/modules/$$(uname -r)/updates/fgio.ko
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man4 packaging/man/fgio.4

# Of what has been built: root may have no toolchain.
install-command:
	install -D -t $(DESTDIR)$(PREFIX)/bin $(CARGO_TARGET)/release/fgio $(CARGO_TARGET)/release/fgiod
	install -D -m 0644 -t $(DESTDIR)/usr/lib/fgio/profiles profiles/*.toml
	install -d $(DESTDIR)$(UNITS)
	for unit in fgiod fgiod-cache; do \
		sed 's,/usr/bin/fgiod,$(PREFIX)/bin/fgiod,' packaging/systemd/$$unit.service \
			>$(DESTDIR)$(UNITS)/$$unit.service || exit; \
	done
	install -D -m 0644 -t $(DESTDIR)$(UDEV_RULES) packaging/udev/60-fgio.rules
	install -D -m 0644 -t $(DESTDIR)$(SYSUSERS) packaging/sysusers/fgio.conf
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(BASH_COMPLETIONS) \
		$(DESTDIR)$(ZSH_COMPLETIONS) $(DESTDIR)$(FISH_COMPLETIONS)
	$(CARGO_TARGET)/release/fgio man --out $(DESTDIR)$(PREFIX)/share/man/man1
	$(CARGO_TARGET)/release/fgiod man --out $(DESTDIR)$(PREFIX)/share/man/man1
	$(CARGO_TARGET)/release/fgio completions bash >$(DESTDIR)$(BASH_COMPLETIONS)/fgio
	$(CARGO_TARGET)/release/fgio completions zsh >$(DESTDIR)$(ZSH_COMPLETIONS)/_fgio
	$(CARGO_TARGET)/release/fgio completions fish >$(DESTDIR)$(FISH_COMPLETIONS)/fgio.fish

install-lib:
	$(MAKE) -C lib install

packages:
	@$(SETUP) lib packaging tools
	@packaging/build build/packages

clean:
	rm -rf build/core build/lib build/postgresql build/redis build/mariadb build/servers build/kmod build/cargo build/demo

distclean:
	rm -rf build
