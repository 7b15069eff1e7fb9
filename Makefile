# SPDX-License-Identifier: BSD-2-Clause
# Makefile: builds gcprof, its libraries, the workloads and the tests.
#
# make help prints the lines that begin with #:
#
#: Targets:
#:   all (the default)       the program, the libraries and the workloads
#:   setup                   install the Debian packages that building and testing need
#:   setup-runtimes          install Go, Java, Node.js, perf, ClickHouse and others, which some tests and make bench use
#:   demo, example           record a program and print its report; see README.md
#:   test                    all tests but the slow ones; as root
#:   test-long               tests that take minutes each
#:   test-again              each bats file 20 times on a busy machine; TIMES=N, PATTERN=NAME
#:   test-threads            tests with threads under the thread sanitizer
#:   test-random             random programs on the collector, under sanitizers
#:   mutants                 break the collector on purpose: each fault must be found
#:   fuzz                    fuzz what is not trusted; FUZZ_SECONDS=N, FUZZ_TARGET=NAME
#:   fuzz-reader             the same for the reader as a process; FUZZ_SECONDS=N
#:   lint                    formatting, static analysis, limits of size, documents
#:   bench, bench-quick      measure gcprof, in 30 or 3 minutes; BENCH=NAME for one table
#:   bench-peers             compare the collector with others
#:   accuracy                how often intervals hold the truth, in hundreds of recordings
#:   pythons, ocamls         unpack newer releases of Python, OCaml for some slow tests
#:   fresh                   run the README's commands on minimal Debians; SUITE=bookworm or trixie for one
#:   kernels                 record under Debian's 6.1, 6.12 and newest kernels, in QEMU
#:   compilers               build with clang 14 to 21, and record with each under these kernels
#:   causes                  how often the first finding names the fault planted in a program
#:   causes-gc               whether collectors save what is predicted without a cause; PATTERN=NAME
#:   soak                    record for 30 minutes; SOAK=seconds
#:   soak-runtimes           Go and Java programs under recorders that come and go; SOAK=seconds
#:   siege                   record beside programs that attack the recorder; SIEGE=seconds
#:   unwind-images           take the stored stacks anew
#:   install, uninstall      below PREFIX (default: /usr/local)
#:   clean                   remove what was built
#:
#: Variables:
#:   V=1                     show the commands
#:   BUILD=release|debug     debug: -O1, collector checks on
#:   SAN=address,undefined   sanitizers, for every target
#:   O=DIR                   where everything is built (default: build)
#:   LIBDIR=DIR              where install puts libraries to link to (default: PREFIX/lib)

O      ?= build
BUILD  ?= release
SAN    ?=
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
CLANG  ?= clang
CFLAGS ?=

# make has a compiler of its own in mind, so ?= would leave that.
ifeq ($(origin CC),default)
CC := gcc
endif

VERSION := 0.1.0

ifeq ($(filter release debug,$(BUILD)),)
$(error BUILD must be release or debug, not $(BUILD))
endif
CFLAGS_release := -O2
CFLAGS_debug   := -O1 -DGC_CHECK=1
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE $(if $(SAN),-g1,-g) $(CFLAGS_$(BUILD)) -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
	-fno-optimize-sibling-calls -fPIC -fvisibility=hidden -Wall -Wextra -Werror \
	-Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wvla -Wundef \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=undefined) $(CFLAGS)
# What is built does not depend on the folder; not in the flags that are kept, so that the tree can be moved.
SAME := -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(O)=build
ALL_LDFLAGS := $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
# Of programs that are linked by the hundred.
TEST_LDFLAGS := $(ALL_LDFLAGS) $(if $(shell command -v ld.gold),-fuse-ld=gold)
DEPFLAGS = -MMD -MP -MF $(@:.o=.d)
ARCH := $(shell uname -m)

# Under sudo gcprof would write as the user who called it, into what root builds and tests make.
unexport SUDO_UID SUDO_GID PKEXEC_UID DOAS_USER
BPF_ARCH_x86_64 := x86

LIBS := -lbpf -lseccomp -lZydis -lunwind-x86_64 -lunwind -ldw -lelf -lzstd -lz -llzma -lsqlite3 -lprotobuf-c -ljansson \
	-liberty -lncursesw -ltinfo -lpthread -lm

GC_OBJ   := $(patsubst %.c,$(O)/%.o,$(wildcard gc/*.c))
PROVIDER_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard gc/provider/*.c))
# Libraries that are preloaded, one for each folder, and the files of each.
AGENTS := malloc cpython jvm
agent_objects = $(patsubst %.c,$(O)/%.o,$(wildcard gc/agents/load/*.c $(if $(filter jvm,$(1)),,gc/agents/common/*.c) gc/agents/$(1)/*.c))
USER_OBJ := $(patsubst %.c,$(O)/%.o,$(filter-out userspace/main.c,\
	$(wildcard userspace/*.c userspace/*/*.c userspace/*/*/*.c))) \
	$(patsubst %.proto,$(O)/%.pb-c.o,$(wildcard userspace/export/*/*.proto))
# The program of probes takes the verifier longest: first, it is checked beside the others.
BPF_SRC  := bpf/gc.bpf.c $(filter-out bpf/gc.bpf.c,$(wildcard bpf/*.bpf.c))
SKEL     := $(O)/bpf/gcprof.skel.h

WORKLOADS := $(patsubst tests/workloads/%/,$(O)/workloads/%,$(sort $(dir $(wildcard tests/workloads/*/*.c))))
# Unit tests run under sanitizers. Without them run those of the collector, which is as it is shipped only
# then, and those with a line "Plain:", which says why.
UNIT_SRC  := $(if $(SAN),$(filter-out %/test.c,$(wildcard tests/unit/*.c)),\
	$(sort $(wildcard tests/unit/gc_*.c) $(shell grep -l '^/\* Plain: ' tests/unit/*.c)))
UNIT      := $(UNIT_SRC:%.c=$(O)/%)
FUZZ      := $(patsubst tests/fuzz/%.c,$(O)/tests/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
MAN       := $(wildcard userspace/man/*.1)

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-5s %s\n' $(1) $(patsubst $(O)/%,%,$@)
endif

# A file that is new when its text is: what depends on it is built again when flags change, or a
# source is gone.
keep = @mkdir -p $(@D) && printf '%s\n' $(1) | cmp -s - $@ || printf '%s\n' $(1) > $@

.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

.PHONY: all
all: program library workloads

.PHONY: program library workloads unit fuzz-targets
program: $(O)/gcprof $(O)/man/gcprof-rows.5
library: $(foreach l,provider gc,$(O)/libgcprof-$(l).a $(O)/libgcprof-$(l).so) $(AGENTS:%=$(O)/libgcprof-%.so) $(O)/gcprof-node.cjs
workloads: $(WORKLOADS)
# With what only people run, so that it still compiles.
unit: $(UNIT) $(O)/tests/fuzz/reader_process $(O)/tests/unwind/take
fuzz-targets: $(FUZZ)

# --- objects ----------------------------------------------------------------

# Profiles tell the code of the collector and of providers from the program's by its section: see
# gc/provider/PROBES.md.
own_text := $(foreach s,.text .text.unlikely .text.hot .text.startup .text.exit,--rename-section $(s)=gcprof_text)

.PHONY: always
$(O)/flags: always
	$(call keep,'$(CC) $(subst ','\'',$(ALL_CFLAGS) $(ALL_LDFLAGS) $(VERSION) $(own_text))')

# Git says nothing where the tree is no clone of its own; under sudo the clone may be another user's.
COMMIT := $(if $(wildcard .git),$(shell git -c safe.directory='*' describe --always --abbrev=12 --exclude='*' --dirty=+ 2>/dev/null))
$(O)/commit: always
	$(call keep,'$(COMMIT)')

$(O)/userspace/util/version.o: $(O)/commit
$(O)/userspace/util/version.o: INCLUDES := $(if $(COMMIT),-DGCPROF_COMMIT='"$(COMMIT)"')

$(O)/sources: always
	$(call keep,$(patsubst $(O)/%,%,$(PROVIDER_OBJ) $(GC_OBJ) $(MALLOC_OBJ) $(USER_OBJ)))

# With sanitizers the compiler takes half of its time without optimizing. Only of these would tests
# run longer than that saves: the collector and its tests, and what each record or event goes through.
hot = gc/% tests/unit/gc_% userspace/profile/% userspace/util/% userspace/record/world/%
plainly = $(if $(SAN),$(if $(filter $(hot),$<),,-O0))

$(O)/%.o: %.c $(O)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(SAME) $(plainly) $(DEPFLAGS) $(INCLUDES) -DGCPROF_VERSION='"$(VERSION)"' -c $< -o $@
	$(if $(filter gc/%,$<),$(Q)objcopy $(own_text) $@)

# The page that exports fill lies in the program.
$(O)/userspace/export/html/html.o: userspace/export/html/page.html

# The recorder is the only part that sees the skeleton.
RECORD_OBJ := $(filter $(O)/userspace/record/% $(O)/userspace/commands/record/% $(O)/userspace/commands/pause/% $(O)/userspace/commands/doctor/%,$(USER_OBJ))
$(RECORD_OBJ): INCLUDES := -I$(O)/bpf
$(RECORD_OBJ): | $(SKEL)
$(O)/tests/%.o: INCLUDES := -Igc -Iuserspace -Itests/unit -I$(O)/userspace

# --- protobuf formats: C from their descriptions --------------------------------

comma := ,

PB_SRC := $(patsubst %.proto,$(O)/%.pb-c.c,$(wildcard userspace/export/*/*.proto))
$(O)/%.pb-c.c: %.proto
	$(call say,GEN)
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=$(<D) --c_out=$(@D) $<

$(PB_SRC:.c=.o): $(O)/%.o: $(O)/%.c
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) $(SAME) $(DEPFLAGS) -c $< -o $@

PB_USERS := $(filter $(O)/userspace/export/pprof/% $(O)/userspace/export/perfetto/%,$(USER_OBJ))
$(PB_USERS): INCLUDES := -I$(O)/userspace
$(PB_USERS) $(O)/tests/unit/export_pprof.o $(O)/tests/unit/export_perfetto.o: | $(PB_SRC)

# --- BPF: one object made of every bpf/*.bpf.c, one skeleton -----------------

$(O)/bpf/gcprof.bpf.c: always
	$(call keep,$(BPF_SRC:%='#include "%"'))

BPF_CFLAGS := -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH_$(ARCH)) -g -O2 -std=gnu11 -Wall -Werror \
	-Wno-unused-function -I/usr/include/$(ARCH)-linux-gnu -I.
$(O)/bpf/flags: always
	$(call keep,'$(CLANG) $(BPF_CFLAGS)')

$(O)/bpf/gcprof.bpf.o: $(O)/bpf/gcprof.bpf.c $(O)/bpf/flags tools/bpf-stack
	$(call say,BPF)
	$(Q)$(CLANG) $(BPF_CFLAGS) $(SAME) -MMD -MP -MT $@ -MF $(@:.o=.d) -c $< -o $@.tmp
	$(Q)bpftool gen object $@ $@.tmp && rm -f $@.tmp
	$(Q)tools/bpf-stack $@

$(SKEL): $(O)/bpf/gcprof.bpf.o
	$(call say,SKEL)
	$(Q)bpftool gen skeleton $< name gcprof_bpf > $@

# --- libraries and programs ---------------------------------------------------

$(O)/libgcprof-gc.a: $(GC_OBJ) $(O)/sources
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(GC_OBJ)

$(O)/libgcprof-gc.so: $(GC_OBJ) $(O)/libgcprof-provider.so gc/gc.map $(O)/sources
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,libgcprof-gc.so.0 -Wl,--version-script=gc/gc.map $(GC_OBJ) -L$(O) -lgcprof-provider -lpthread -o $@

# One object with the public names only: others would meet those of the programs that it is linked to.
# But for what all notes of a file share: a program may have probes of its own.
$(O)/libgcprof-provider.a: $(PROVIDER_OBJ) $(O)/sources
	$(call say,AR)
	$(Q)$(LD) -r $(PROVIDER_OBJ) -o $(O)/gc/provider/whole.o
	$(Q)objcopy --localize-hidden $(O)/gc/provider/whole.o
	$(Q)objcopy --globalize-symbol=_.stapsdt.base $(O)/gc/provider/whole.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(O)/gc/provider/whole.o

$(O)/libgcprof-provider.so: $(PROVIDER_OBJ) gc/provider/provider.map $(O)/sources
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -shared -Wl,-soname,libgcprof-provider.so.0 -Wl,--version-script=gc/provider/provider.map $(PROVIDER_OBJ) -lpthread -o $@

# Their functions end with jumps to those of the allocator, and begin with a line of the cache: that is worth 2 to 4 %
# of the time of a malloc() and its free().
$(foreach a,$(AGENTS),$(O)/gc/agents/$(a)/agent.o): ALL_CFLAGS += -fomit-frame-pointer -foptimize-sibling-calls \
	-falign-functions=64
# Each has a provider of its own, whose names are not for the program; all are bound before it runs.
# None is unloaded: HotSpot does that where an agent says that it cannot work.
# The loader of any C library must accept them: see gc/agents/load/README.md. With one symbol that is
# not weak ld looks at the C library.
define agent_rule
$(O)/gc/agents/$(1)/whole.o: $(call agent_objects,$(1)) $(O)/libgcprof-provider.a gc/agents/load/versions $(O)/sources
	@mkdir -p $$(@D)
	$$(Q)$$(LD) -r $(call agent_objects,$(1)) --whole-archive $(O)/libgcprof-provider.a -o $$@.tmp
	$$(Q)objcopy --redefine-syms=gc/agents/load/versions $$@.tmp
	$$(Q)nm -u -j $$@.tmp | grep -vE "__dso_handle|__errno_location" > $$@.undefined
	$$(Q)objcopy --weaken-symbols=$$@.undefined --wildcard --localize-symbol='gcprof_*' $$@.tmp $$@
	$$(Q)rm $$@.tmp $$@.undefined

$(O)/libgcprof-$(1).so: $(O)/gc/agents/$(1)/whole.o
	$$(call say,LINK)
	$$(Q)$$(CC) $$(ALL_CFLAGS) $$(ALL_LDFLAGS) -shared -Wl,-z,now -Wl,-z,nodelete -Wl,-z,defs \
		-Wl,--auxiliary=libdl.so.2 -Wl,--auxiliary=libpthread.so.0 $$< -o $$@
endef
$(foreach a,$(AGENTS),$(eval $(call agent_rule,$(a))))

$(O)/gcprof-node.cjs: gc/agents/node/agent.cjs
	$(call say,COPY)
	$(Q)cp $< $@

# The same for tests, with all names.
$(O)/tests/provider.a: $(PROVIDER_OBJ) $(O)/sources
	$(call say,AR)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $(PROVIDER_OBJ)

$(O)/libgcprof-user.a: $(USER_OBJ) $(O)/sources
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(USER_OBJ)

$(O)/gcprof: $(O)/userspace/main.o $(O)/libgcprof-user.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# The figures of all tables, as a page.
$(O)/tools/rows_page: tools/rows_page.c userspace/model/rows.def
	$(call say,HOSTCC)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -Wall -Wextra -Werror $< -o $@

$(O)/man/gcprof-rows.5: $(O)/tools/rows_page
	$(call say,MAN)
	$(Q)mkdir -p $(@D)
	$(Q)$< >$@

define workload_rule
$(O)/workloads/$(1): $(patsubst %.c,$(O)/%.o,$(wildcard tests/workloads/$(1)/*.c)) $(O)/libgcprof-gc.a $(O)/libgcprof-provider.a
	$$(call say,LINK)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(ALL_CFLAGS) $$(ALL_LDFLAGS) $$^ -lpthread -lm -o $$@
endef
$(foreach w,$(notdir $(WORKLOADS)),$(eval $(call workload_rule,$(w))))

$(O)/tests/unit/agents_live $(O)/tests/unit/agents_kept: $(O)/gc/agents/common/live.o $(O)/gc/agents/common/kept.o

# Tests of the collector have no probes for others: a recorder of the whole system would be heard.
$(O)/tests/unit/%: $(O)/tests/unit/%.o $(O)/tests/unit/test.o $(O)/libgcprof-user.a $(O)/libgcprof-gc.a $(O)/tests/provider.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_LDFLAGS) $(if $(USER_OBJ),-Wl$(comma)-u$(comma)reader_main$(comma)-u$(comma)opener_main$(comma)-u$(comma)user_main) $^ $(LIBS) -o $@
	$(if $(filter gc_%,$(*F)),$(Q)objcopy -R .note.stapsdt $@)

# Fuzz targets without a fuzzer; tools/fuzz builds those with one.
$(O)/tests/fuzz/fuzz_%: $(O)/tests/fuzz/fuzz_%.o $(O)/tests/fuzz/driver.o $(O)/libgcprof-user.a $(O)/libgcprof-gc.a $(O)/tests/provider.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# A reader process that is handed changed files: see tools/fuzz-reader.
$(O)/tests/fuzz/reader_process: $(addprefix $(O)/tests/fuzz/,reader_process.o reader_memory.o driver.o) $(O)/libgcprof-user.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -Wl,--wrap=waitpid $^ $(LIBS) -o $@

# What takes stored stacks, and programs to take them from: see tests/unwind/take-all.
$(O)/tests/unwind/%.o: INCLUDES := -Igc -Iuserspace
$(O)/tests/unwind/take: $(O)/tests/unwind/take.o $(O)/tests/unwind/live.o $(O)/libgcprof-user.a
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

$(O)/tests/unwind/situations: $(O)/tests/unwind/situations.o
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $^ -lpthread -lrt -o $@

# --- for people ---------------------------------------------------------------

# Builds on all processors, unless make was told on how many.
build = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: help setup setup-runtimes demo example test test-again test-long test-threads lint fuzz bench bench-quick bench-peers accuracy pythons ocamls fresh kernels soak soak-runtimes siege compilers causes causes-gc
.PHONY: test-random mutants unwind-images fuzz-reader install uninstall clean
help:
	@sed -n 's/^#: \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

setup:
	@tools/setup

setup-runtimes:
	@tools/setup runtimes

demo: setup
	@+$(build) all
	@tools/demo $(O)

example: setup
	@+$(build) all
	@tools/example $(O)

# While files run that must be alone, which wait most of their time, the sanitized build is made.
test: setup
	@+$(build) all unit
	@+BESIDE='$(build) O=$(O)/san BUILD=debug SAN=address,undefined unit' tests/run $(O)

# Tests with threads, by the thread sanitizer.
THREADED := gc_threads gc_provider gc_pauses gc_model gc_random gc_regress_threads gc_batch gc_pieces gc_edges \
	gc_shares unwinder
test-long: setup
	@+$(build) all
	@LONG=1 tests/run $(O)

test-again: setup
	@+$(build) all
	@tools/again $(O) $(PATTERN)

test-threads: setup
	@+$(build) O=$(O)/tsan BUILD=debug SAN=thread \
		$(THREADED:%=$(O)/tsan/tests/unit/%)
	@for test in $(THREADED); do $(O)/tsan/tests/unit/$$test || exit 1; done

# Random programs on the collector under sanitizers, many more than make test has.
STRINGS ?= 400
test-random: setup
	@+$(build) O=$(O)/san BUILD=debug SAN=address,undefined \
		$(O)/san/tests/unit/gc_random
	@GCPROF_STRINGS=$(STRINGS) $(O)/san/tests/unit/gc_random

# Takes the stored stacks anew, from programs of this machine.
unwind-images: all $(O)/tests/unwind/take $(O)/tests/unwind/situations
	@tests/unwind/take-all $(O)

# Faults on purpose, each to be found by its test: see tests/mutants. MUTANTS='name...' for some.
mutants: setup
	@+$(build) O=$(O)/san BUILD=debug SAN=address,undefined \
		$(patsubst tests/unit/%.c,$(O)/san/tests/unit/%,$(wildcard tests/unit/gc_*.c))
	@LIBS="$(LIBS)" tools/mutate $(O) $(MUTANTS)

lint:
	@tools/lint

fuzz:
	@LIBS="$(LIBS)" tools/fuzz $(O)

fuzz-reader:
	@+$(build) $(O)/tests/fuzz/reader_process
	@+$(build) O=$(O)/san BUILD=debug SAN=address,undefined $(O)/san/tests/fuzz/reader_process
	@tools/fuzz-reader $(O)

bench: all
	@tools/bench/run --build $(O) $(BENCH)

bench-quick: all
	@tools/bench/run --build $(O) --quick

bench-peers: all
	@tools/bench/peers $(O)

pythons ocamls: setup
	@tools/$@ $(O)

fresh:
	@mkdir -p $(O)
	@tools/fresh $(O) $(SUITE)

kernels: all
	@tools/kernels $(O)

compilers: all
	@+MAKE='$(build)' tools/compilers $(O)

causes: all setup-runtimes
	@tests/causes/score $(O)

causes-gc: all setup-runtimes
	@tests/causes/removals $(O) $(PATTERN)

soak: all
	@tools/soak $(O)

soak-runtimes: all setup-runtimes
	@tools/soak-runtimes $(O)

siege: all
	@tools/siege $(O)

accuracy: all
	@tests/e2e/accuracy $(O) 400
	@tests/e2e/accuracy $(O) 60 93 arrays
	@tests/e2e/accuracy $(O) 100 90 toy
	@tests/e2e/accuracy $(O) 100 90 emitter
	@tests/e2e/accuracy $(O) 100 93 malloc
	@tests/e2e/accuracy $(O) 100 90 otel
	@for program in go java-Serial java-Parallel java-G1; do tests/e2e/accuracy $(O) 100 90 $$program || exit 1; done

clean:
	$(Q)rm -rf $(O)

# --- installing ---------------------------------------------------------------

HEADERS := gc/gc.h gc/gc_inline.h
PROVIDER_HEADERS := $(addprefix gc/provider/,provider.h frame.h probe_args.h probes.def)
DOCS := LICENSE CHANGES.md $(addprefix userspace/profile/,FORMAT.md records.def) $(wildcard userspace/guide/*.md) \
	gc/README.md $(addprefix gc/provider/,PROBES.md README.md example/toy.c)
UNITS := gcprof-keep.service gcprof-rotate.service
UNIT_DIR := $(PREFIX)/lib/systemd/system
# Where the program, in PREFIX/bin, looks for agents; they are loaded and never linked to.
AGENT_DIR := $(PREFIX)/lib/gcprof
BASH_COMPLETIONS := $(PREFIX)/share/bash-completion/completions

# NAME DESCRIPTION REQUIRES: a library, static and shared, and what pkg-config says of it
define install_library
	$(Q)install -D -m 644 $(O)/libgcprof-$(1).a $(DESTDIR)$(LIBDIR)/libgcprof-$(1).a
	$(Q)install -D -m 755 $(O)/libgcprof-$(1).so $(DESTDIR)$(LIBDIR)/libgcprof-$(1).so.0
	$(Q)ln -sf libgcprof-$(1).so.0 $(DESTDIR)$(LIBDIR)/libgcprof-$(1).so
	$(Q)umask 022; mkdir -p $(DESTDIR)$(LIBDIR)/pkgconfig; printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)' 'includedir=$${prefix}/include' '' \
		'Name: gcprof-$(1)' 'Description: $(2)' 'Version: $(VERSION)' 'Requires: $(3)' \
		'Libs: -L$${libdir} -lgcprof-$(1)' 'Libs.private: -lpthread -lm' \
		'Cflags: -I$${includedir}/gcprof' > $(DESTDIR)$(LIBDIR)/pkgconfig/gcprof-$(1).pc
endef

install: program library
	$(Q)install -D -m 755 $(O)/gcprof $(DESTDIR)$(PREFIX)/bin/gcprof
	$(call install_library,provider,how a runtime or an allocator reports to gcprof,)
	$(call install_library,gc,generational garbage collector with a built-in allocation sampler,gcprof-provider)
	$(Q)install -D -m 755 -t $(DESTDIR)$(AGENT_DIR) $(AGENTS:%=$(O)/libgcprof-%.so)
	$(Q)install -D -m 644 -t $(DESTDIR)$(AGENT_DIR) $(O)/gcprof-node.cjs
	$(Q)install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/gcprof $(HEADERS)
	$(Q)install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/gcprof/provider $(PROVIDER_HEADERS)
	$(Q)$(foreach f,$(DOCS),install -D -m 644 $(f) \
		$(DESTDIR)$(PREFIX)/share/doc/gcprof/$(patsubst userspace/%,%,$(patsubst userspace/profile/%,%,$(f:gc/%=%))) &&) :
	$(Q)install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(MAN)
	$(Q)install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man5 $(O)/man/gcprof-rows.5
	$(Q)install -D -m 644 tools/completion.bash $(DESTDIR)$(BASH_COMPLETIONS)/gcprof
	$(Q)install -D -m 644 -t $(DESTDIR)$(UNIT_DIR) $(UNITS:%=tools/service/%) # nobody enables them
	$(Q)sed -i 's|@PREFIX@|$(PREFIX)|' $(UNITS:%=$(DESTDIR)$(UNIT_DIR)/%)
	$(Q)[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || : # the loader finds the libraries at once

uninstall:
	$(Q)rm -f $(DESTDIR)$(PREFIX)/bin/gcprof \
		$(foreach l,provider gc,$(addprefix $(DESTDIR)$(LIBDIR)/,pkgconfig/gcprof-$(l).pc \
			libgcprof-$(l).a libgcprof-$(l).so libgcprof-$(l).so.0)) \
		$(addprefix $(DESTDIR)$(PREFIX)/share/man/man1/,$(notdir $(MAN))) \
		$(DESTDIR)$(PREFIX)/share/man/man5/gcprof-rows.5 \
		$(DESTDIR)$(BASH_COMPLETIONS)/gcprof $(UNITS:%=$(DESTDIR)$(UNIT_DIR)/%)
	$(Q)rm -rf $(DESTDIR)$(AGENT_DIR) $(DESTDIR)$(PREFIX)/include/gcprof $(DESTDIR)$(PREFIX)/share/doc/gcprof

# Roots of other machines are no part of the build.
-include $(shell find $(O) -path $(O)/fresh -prune -o -path '*/debian11/root' -prune -o -name '*.d' -type f -print 2>/dev/null)
