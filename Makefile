# Belljar: one non-recursive Makefile. `make help` lists the targets.
#
#   build/            the program, its manual page and completions
#   build/obj         objects of the release build
#   build/san         the same with ASan and UBSan, and every test program (make SAN=1)
#   build/fuzz        libFuzzer programs (clang)
#   build/lint        stamps of the files that passed `make lint`, so that only changed files are checked again
#   build/agent       the agent: a static program (musl) that all of the above carry as bytes

VERSION  = 0.1.0
PREFIX  ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC       = gcc
endif
AGENT_CC ?= musl-gcc
FUZZ_CC ?= clang
# `make WERROR=` is for other compilers, whose warnings are not fixed here.
WERROR  ?= -Werror
FUZZ_SECONDS ?= 60

ifneq ($(V),1)
Q = @
say = @printf '  %-7s %s\n'
else
say = @:
endif

# --- flags -------------------------------------------------------------------------

LIBS = jansson libevent_core libssl libcrypto sqlite3 yaml-0.1
# libcurl is loaded when it is used: see src/libcurl/curl_library.h.
LIB_CFLAGS := $(shell pkg-config --cflags $(LIBS) libcurl 2>/dev/null)
LIB_LDLIBS := $(shell pkg-config --libs $(LIBS) 2>/dev/null) -lm

WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wvla -Wformat=2 -Wcast-qual -Wswitch-enum \
	-Wstrict-prototypes -Wmissing-prototypes -Wimplicit-fallthrough -Wundef -Wwrite-strings
LANGUAGE = -std=gnu17 -D_GNU_SOURCE -DBELLJAR_VERSION='"$(VERSION)"' -Isrc -g $(WARNINGS) $(WERROR)
COMMON = $(LANGUAGE) $(LIB_CFLAGS) -MMD -MP
# cmocka passes every test a state that few of them use.
TEST_WARNINGS = -Wno-unused-parameter
BANNED = -include src/base/banned.h
cc_accepts = $(shell $(CC) -Werror $(1) -E -x c /dev/null >/dev/null 2>&1 && echo $(1))
HARDENED := -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong \
	-fstack-clash-protection -fPIE $(call cc_accepts,-ftrivial-auto-var-init=zero) \
	$(call cc_accepts,-fcf-protection)
# -g1: the line numbers of reports; variables would make compiling and linking a fifth slower.
SANITIZED = -g1 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZED = -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
# There are 250 test programs, and gold links one in a fifth of the time.
TEST_LINKED := $(shell ld.gold --version >/dev/null 2>&1 && echo -fuse-ld=gold)
LINKED = -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed

# musl-gcc searches musl's include folder only. The kernel's headers are added behind it, so that
# they cannot hide musl's own. musl-gcc does not know -static-pie either: its rcrt1.o is linked by
# hand, and where that file is missing the agent is static at a fixed address.
MUSL := $(shell $(AGENT_CC) -v 2>&1 | sed -n 's,^Reading specs from \(.*\)/musl-gcc.specs$$,\1,p')
AGENT_INCLUDES := -idirafter /usr/include \
	-idirafter /usr/include/$(shell $(AGENT_CC) -print-multiarch 2>/dev/null)
AGENT_COMMON = $(LANGUAGE) $(AGENT_INCLUDES)
AGENT_HARDENED := -Os $(call cc_accepts,-Oz) $(call cc_accepts,-fno-move-loop-invariants) \
	-ffunction-sections -fdata-sections \
	-fvisibility=hidden -fstack-protector-strong -fstack-clash-protection \
	-fno-asynchronous-unwind-tables -fno-unwind-tables
# -u: only libc.a refers to musl_wctype.o, and libc.a comes after parts.a on the command line.
AGENT_LINKED = -static -Wl,--gc-sections,--build-id=none,-u,iswalpha \
	-Wl,-z,relro,-z,now,-z,noexecstack,-z,noseparate-code
ifneq ($(wildcard $(MUSL)/rcrt1.o),)
gcc_file = $(shell $(AGENT_CC) -print-file-name=$(1))
AGENT_HARDENED += -fPIE
AGENT_LINKED += -nostartfiles -Wl,-pie,--no-dynamic-linker,-z,text
AGENT_START := $(MUSL)/rcrt1.o $(MUSL)/crti.o $(call gcc_file,crtbeginS.o)
AGENT_FINISH := $(call gcc_file,crtendS.o) $(MUSL)/crtn.o
else
AGENT_HARDENED += -fno-pie
AGENT_LINKED += -no-pie
endif

# --- sources -----------------------------------------------------------------------

SOURCES := $(sort $(shell find src -name '*.c'))
HEADERS := $(sort $(shell find src -name '*.h'))
PARTS   := $(filter-out src/cli/main.c src/agent/main.c src/engine/filter/filter_build.c,$(SOURCES))
# The linker takes from these what the agent uses.
AGENT   := $(filter $(addprefix src/,agent/% wire/% base/%),$(SOURCES))
FIXTURE := $(sort $(wildcard tests/fixture/*.c))
UNITS   := $(sort $(shell find tests/unit -name 'test_*.c'))
# Code that unit tests share; the linker takes what a test uses.
RIGS    := $(sort $(shell find tests/unit -name '*.c' ! -name 'test_*'))
FUZZERS := $(sort $(shell find tests/fuzz -name 'fuzz_*.c'))
# The conformance fixture links the protocol pillar and nothing else.
PILLAR  := $(filter $(addprefix src/,base/% json/% loop/% mcp/% transport/%),$(PARTS))

ATTACKS := $(sort $(wildcard tests/escape/programs/*/*.c))
# The folder of an attack program is that of its prefix; all programs are built side by side.
vpath %.c $(sort $(dir $(ATTACKS)))

ATTACK_PROGRAMS := $(patsubst %.c,build/escape/%,$(notdir $(ATTACKS)))
UNIT_PROGRAMS   := $(UNITS:tests/unit/%.c=build/san/unit/%)
REPLAY_PROGRAMS := $(FUZZERS:tests/fuzz/%.c=build/san/replay/%)
FUZZ_PROGRAMS   := $(FUZZERS:tests/fuzz/%.c=build/fuzz/%)
SHELLS          := bash zsh fish
GENERATED       := build/doc/belljar.1 $(SHELLS:%=build/completions/belljar.%)

.PHONY: all image run check test test-packages test-long bench conformance fuzz lint lint-headers lint-sources install uninstall clean help test-programs format
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

all: $(if $(filter 1,$(SAN)),build/san/belljar,build/belljar $(GENERATED)) ## build the program (build/belljar; SAN=1: build/san/belljar)

# --- compile -----------------------------------------------------------------------

build/obj/src/%.o: src/%.c Makefile
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(BANNED) $(HARDENED) $(CFLAGS) -c $< -o $@

build/obj/tests/%.o: tests/%.c Makefile
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(HARDENED) $(CFLAGS) -c $< -o $@

build/san/obj/src/%.o: src/%.c Makefile
	$(say) CC-SAN $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(BANNED) $(SANITIZED) -c $< -o $@

build/san/obj/tests/%.o: tests/%.c Makefile
	$(say) CC-SAN $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(SANITIZED) $(TEST_WARNINGS) -Itests -c $< -o $@

build/fuzz/obj/%.o: %.c Makefile
	$(say) CC-FUZZ $<
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(COMMON) $(FUZZED) -Itests -c $< -o $@

build/agent/obj/%.o: %.c Makefile
	$(say) CC-MUSL $<
	@mkdir -p $(@D)
	$(Q)$(AGENT_CC) $(AGENT_COMMON) -MMD -MP $(BANNED) $(AGENT_HARDENED) -c $< -o $@

# The agent in a sandbox needs no rules about what copies may place on the host.
build/agent/obj/without_rules.o: src/agent/files/export/export.c Makefile
	$(say) CC-MUSL $<
	@mkdir -p $(@D)
	$(Q)$(AGENT_CC) $(AGENT_COMMON) -MMD -MP $(BANNED) $(AGENT_HARDENED) -DEXPORT_WITHOUT_RULES -c $< -o $@

# The summaries of messages are for PROTOCOL.md, which the agent does not print.
build/agent/obj/src/wire/table.o: AGENT_HARDENED += -DWIRE_WITHOUT_SUMMARIES

# Every build embeds the same agents.
build/agent/image.o: src/engine/agent_image.S build/agent/belljar-agent build/agent/belljar-host-agent
	$(say) AS $@
	$(Q)$(CC) $(HARDENED) -DAGENT_IMAGE='"build/agent/belljar-agent"' \
		-DHOST_AGENT_IMAGE='"build/agent/belljar-host-agent"' -c $< -o $@

# The programs that interpreters run, embedded as text.
KERNELS := $(patsubst src/%_image.S,build/%.o,$(wildcard src/kernels/*_image.S))

# The Python kernel is embedded as compiled code too, for the Python that sandboxes of this machine see.
# Without Python, four zero bytes say that there is no code, and sandboxes use the text. compiled-by changes when
# another Python is installed, so that the code is compiled again.
KERNEL_PYTHON ?= /usr/bin/python3

.PHONY: FORCE
build/kernels/compiled-by: FORCE
	@mkdir -p $(@D)
	@echo '$(realpath $(KERNEL_PYTHON))' | cmp -s - $@ || echo '$(realpath $(KERNEL_PYTHON))' >$@

build/kernels/python_once.code: LEFT_OUT := --once
build/kernels/python.code build/kernels/python_once.code: scripts/compile-kernel.py src/kernels/python_image.S build/kernels/compiled-by $(wildcard src/kernels/python*.py src/kernels/*/*.py)
	$(say) GEN $@
	@mkdir -p $(@D)
	$(Q)$(KERNEL_PYTHON) -X no_debug_ranges -I -B scripts/compile-kernel.py $(LEFT_OUT) src/kernels/python_image.S $@ || \
		head -c 4 /dev/zero >$@

build/kernels/python.o: build/kernels/python.code build/kernels/python_once.code

build/kernels/%.o: src/kernels/%_image.S $(filter-out %.c %.h %.S,$(wildcard src/kernels/*.* src/kernels/*/*.*))
	$(say) AS $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(HARDENED) -c $< -o $@

# The seccomp programs, one file for each architecture; the linker takes the one it needs.
FILTERS := build/filter/x86_64.o build/filter/aarch64.o

build/filter/generate: src/engine/filter/filter_build.c src/engine/filter/filter_table.c src/engine/filter/filter_lists.c src/engine/filter/filter_table.h src/engine/spec.h Makefile
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(LANGUAGE) $(filter %.c,$^) -lseccomp -o $@

build/filter/%.c: build/filter/generate
	$(say) FILTER $@
	$(Q)build/filter/generate $* >$@

build/filter/%.o: build/filter/%.c
	$(say) CC $<
	$(Q)$(CC) $(LANGUAGE) $(HARDENED) -c $< -o $@

# --- link --------------------------------------------------------------------------

%/parts.a:
	$(say) AR $@
	$(Q)rm -f $@ && ar rcs $@ $^

build/parts.a: $(PARTS:%.c=build/obj/%.o) build/agent/image.o $(KERNELS) $(FILTERS)
build/san/parts.a: $(PARTS:%.c=build/san/obj/%.o) build/agent/image.o $(KERNELS) $(FILTERS)
build/fuzz/parts.a: $(PARTS:%.c=build/fuzz/obj/%.o) build/agent/image.o $(KERNELS) $(FILTERS)
build/agent/parts.a: $(patsubst %.c,build/agent/obj/%.o,$(filter-out src/agent/main.c,$(AGENT)))

build/agent/belljar-agent.debug: build/agent/obj/src/agent/main.o build/agent/obj/without_rules.o build/agent/parts.a
build/agent/belljar-host-agent.debug: build/agent/obj/src/agent/main.o build/agent/parts.a
build/agent/belljar-agent.debug build/agent/belljar-host-agent.debug:
	$(say) LINK $@
	$(Q)$(AGENT_CC) $(AGENT_LINKED) $(AGENT_START) $^ $(AGENT_FINISH) -o $@

build/agent/belljar-agent build/agent/belljar-host-agent: %: %.debug
	$(say) STRIP $@
	$(Q)strip --strip-all --remove-section=.comment -o $@ $<

build/san/agent: build/san/obj/src/agent/main.o build/san/parts.a
	$(say) LINK $@
	$(Q)$(CC) $(SANITIZED) $^ -o $@

build/belljar: build/obj/src/cli/main.o build/parts.a
	$(say) LINK $@
	$(Q)$(CC) $(LINKED) $(LDFLAGS) $^ $(LIB_LDLIBS) -o $@

build/san/belljar: build/san/obj/src/cli/main.o build/san/parts.a
	$(say) LINK $@
	$(Q)$(CC) $(SANITIZED) $^ $(LIB_LDLIBS) -o $@

build/fixture: $(FIXTURE:%.c=build/obj/%.o) $(PILLAR:%.c=build/obj/%.o)
	$(say) LINK $@
	$(Q)$(CC) $(LINKED) $^ $(LIB_LDLIBS) -o $@

build/san/fixture: $(FIXTURE:%.c=build/san/obj/%.o) $(PILLAR:%.c=build/san/obj/%.o)
	$(say) LINK $@
	$(Q)$(CC) $(SANITIZED) $^ $(LIB_LDLIBS) -o $@

build/conformance-fixture: build/fixture
	$(Q)ln -f $< $@

build/%_bench: build/obj/tests/bench/%_bench.o build/parts.a
	$(say) LINK $@
	$(Q)$(CC) $(LINKED) $^ $(LIB_LDLIBS) -o $@

build/http_load: tests/bench/http_load.c tests/bench/measure.h Makefile
	$(say) LINK $@
	$(Q)$(CC) $(LANGUAGE) $(HARDENED) $(LINKED) $< -o $@

build/san/rigs.a: $(RIGS:%.c=build/san/obj/%.o)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcs $@ $^

build/san/unit/%: build/san/obj/tests/unit/%.o build/san/rigs.a build/san/parts.a
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZED) $(TEST_LINKED) $^ $(LIB_LDLIBS) -lcmocka -o $@

build/san/replay/%: build/san/obj/tests/fuzz/%.o build/san/obj/tests/fuzz/replay.o build/san/parts.a
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZED) $(TEST_LINKED) $^ $(LIB_LDLIBS) -o $@

# Static: an attack program must run in a sandbox of any image.
build/escape/%: %.c $(wildcard tests/escape/programs/*.h) Makefile
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -static -pthread $< -o $@

build/fuzz/%: build/fuzz/obj/tests/fuzz/%.o build/fuzz/parts.a
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZED) -fsanitize=fuzzer $^ $(LIB_LDLIBS) -o $@

# --- generated documents -----------------------------------------------------------

build/doc/belljar.1: doc/belljar.1.in scripts/manual.sh build/belljar
	$(say) DOC $@
	@mkdir -p $(@D)
	$(Q)sh scripts/manual.sh build/belljar $< >$@

build/completions/belljar.%: build/belljar
	$(say) DOC $@
	@mkdir -p $(@D)
	$(Q)build/belljar completion $* >$@

# --- use ---------------------------------------------------------------------------

# `make clean all` means one after the other.
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

run: build/belljar $(GENERATED) ##   build, then show the program at work
	@sh scripts/demo.sh build/belljar

test-programs: build/belljar $(GENERATED) build/fixture build/san/belljar build/san/fixture build/san/agent $(UNIT_PROGRAMS) $(REPLAY_PROGRAMS) $(ATTACK_PROGRAMS) build/http_load

check: build/belljar build/fixture $(UNIT_PROGRAMS) ## the quick test for every day: unit tests, lint of changed files, a short end-to-end test
	@sh tests/check.sh

# ./test says INSTALL=1. The compilers need none of these packages and work meanwhile. Any npm will do: NodeSource's
# comes with node and conflicts with Debian's.
test-packages:
	$(if $(INSTALL),@sh scripts/need.sh $(shell cat scripts/packages-test.txt) $(if $(shell command -v npm),,nodejs npm))

# npm mostly waits for the registry, so it runs beside the compilers. If it fails, tests/run.sh tries again and says so.
NODE_PACKAGES := $(patsubst %,tests/%/node_modules/.package-lock.json,e2e conformance)
$(NODE_PACKAGES): tests/%/node_modules/.package-lock.json: tests/%/package-lock.json | test-packages
	$(say) NPM $(<D)
	-$(Q)cd $(<D) && npm ci >/dev/null 2>&1 </dev/null

test: test-packages $(NODE_PACKAGES) test-programs ##  unit tests, fuzz corpora, end-to-end tests; ends in "N passed, M failed"
	@sh tests/in_memory.sh sh tests/run.sh

test-long: test-programs ## what takes too long for every day: clang's analyser, all end-to-end tests with the released program, under the sanitizers, on Docker and on Podman, all attacks as each user, here and with cgroup version 2, soaks of SOAK_SECONDS over stdio and HTTP, and a load of 5,500 connections (root; 150 minutes)
	rm -rf build/lint && $(MAKE) lint ANALYSE=1
	sh tests/in_memory.sh sh tests/long.sh
	python3 tests/escape/run.py --long
	VM_SECONDS=5400 sh tests/vm/cgroup2.sh long
	python3 tests/soak/soak.py
	python3 tests/soak/soak_http.py
	python3 tests/soak/load_http.py

bench: build/belljar build/fixture build/channel_bench build/native_bench build/tools_bench build/conformance-fixture build/http_load ## measure runs beside bare Python, sandboxes beside bubblewrap, the channel, the server beside the official SDK's, and the docker engine beside docker exec
	@sh tests/bench/bench.sh

conformance: build/conformance-fixture ## the official MCP conformance suite against the fixture, every revision
	@sh tests/conformance/run.sh $(abspath $<)

fuzz: $(FUZZ_PROGRAMS) ##  fuzz each decoder for FUZZ_SECONDS (60)
	@sh tests/fuzz/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_PROGRAMS)

lint: ##  layers, sizes, lone headers, clang-format, cppcheck, clang-tidy, shellcheck
	+@MAKE="$(MAKE)" sh scripts/lint.sh $(filter %.c,$(LINTED))

# A source is checked again when its object was compiled again, that is when the source or a header
# of it changed. gcc's and musl-gcc's warnings are the build's: it has -Werror.
CHECKED = $(filter-out -MMD -MP,$(COMMON)) $(BANNED) -Wreserved-identifier
# clang's analyser takes longer than all other checks together: `make test-long` runs it, as `make lint ANALYSE=1`.
TIDY_CHECKS = $(if $(filter 1,$(ANALYSE)),,'--checks=-clang-analyzer-*')

build/lint/%.tidy: %.c build/obj/%.o .clang-tidy
	@mkdir -p $(@D)
	$(Q)clang-tidy --quiet $(TIDY_CHECKS) $< -- $(CHECKED) >$@.out 2>&1 || { cat $@.out; exit 1; }
	$(Q)touch $@

# A header must compile alone, also in front of banned.h, which includes system headers itself. A
# file includes it, because #pragma once in a main file is a warning of its own.
build/lint/%.alone: %.h Makefile
	@mkdir -p $(@D)
	$(Q)echo '#include "$(<:src/%=%)"' | $(CC) -fsyntax-only $(COMMON) -MT $@ -MF $(@:.alone=.d) -x c -
	$(Q)touch $@

# LINT=changed: only the files that differ from the last commit.
ifeq ($(LINT),changed)
CHANGED := $(shell git diff --name-only --diff-filter=d HEAD; git ls-files --others --exclude-standard)
LINTED  := $(filter $(CHANGED),$(SOURCES) $(HEADERS))
else
LINTED  := $(SOURCES) $(HEADERS)
endif

lint-sources: $(patsubst %.c,build/lint/%.tidy,$(filter %.c,$(LINTED)))
lint-headers: $(patsubst %.h,build/lint/%.alone,$(filter %.h,$(LINTED)))

format: ## let clang-format rewrite the sources
	clang-format -i $(SOURCES) $(HEADERS) $(shell find tests -name node_modules -prune -o -name '*.[ch]' -print)

# The installed files, relative to PREFIX.
INSTALLED = bin/belljar share/man/man1/belljar.1 share/bash-completion/completions/belljar \
	share/zsh/site-functions/_belljar share/fish/vendor_completions.d/belljar.fish
TARGET = $(DESTDIR)$(PREFIX)

# IMAGE_OPTIONS are passed on to docker build, as "--build-arg BASE=debian:12-slim --network host".
image: ## build the image belljar-sandbox for the docker engine
	docker build --tag belljar-sandbox $(IMAGE_OPTIONS) image

install: build/belljar $(GENERATED) ## install below PREFIX (/usr/local); honours DESTDIR
	install -D -m 755 build/belljar "$(TARGET)/bin/belljar"
	install -D -m 644 build/doc/belljar.1 "$(TARGET)/share/man/man1/belljar.1"
	install -D -m 644 build/completions/belljar.bash "$(TARGET)/share/bash-completion/completions/belljar"
	install -D -m 644 build/completions/belljar.zsh "$(TARGET)/share/zsh/site-functions/_belljar"
	install -D -m 644 build/completions/belljar.fish "$(TARGET)/share/fish/vendor_completions.d/belljar.fish"

uninstall: ## remove what install put there
	rm -f $(foreach file,$(INSTALLED),"$(TARGET)/$(file)")

clean: ## remove what was built, and the npm packages of the tests
	rm -rf build tests/e2e/node_modules tests/conformance/node_modules

help: ##  this list
	@awk -F ':.*## *' '/^[a-z-]+:.*## /{ printf "  %-10s %s\n", $$1, $$2 }' Makefile

# build/vm is the root of a virtual machine, with directories such as ld.so.conf.d.
-include $(shell find build -path build/vm -prune -o -type f -name '*.d' -print 2>/dev/null)
