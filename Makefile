# karp. `make help` lists the targets.
#
# Knobs: DEVELOPER=1 (warnings are errors), SANITIZE=address,undefined (own build folder), V=1 (show
# commands), PREFIX, DESTDIR. local.mk is read if it exists.
-include local.mk

VERSION ?= 0.1.0
PREFIX ?= /usr/local
CC ?= gcc
AR ?= ar
PKG_CONFIG ?= pkg-config
V ?= 0
Q = $(if $(filter 1,$(V)),,@)

# Sanitized objects live beside the plain ones, and so do those of the layer check (LAYERS=1), which
# wants no symbols but the code's own.
BUILD := $(if $(SANITIZE),build/san,$(if $(LAYERS),build/layers,build))

PKGS := libcurl jansson yaml-0.1 expat libmicrohttpd zlib
WARN := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
        -Wundef -Wformat=2 -Wno-format-nonliteral
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2
ifdef LAYERS
HARDEN :=
endif
ifdef SANITIZE
HARDEN := -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
OPT ?= -O1
endif
OPT ?= -O2
CPPFLAGS += -D_GNU_SOURCE -I. -I$(BUILD)/gen -DKARP_VERSION='"$(VERSION)"'
CFLAGS += -std=c11 $(OPT) -g $(WARN) $(if $(DEVELOPER),-Werror) $(HARDEN) -fno-common -fPIE \
          -fvisibility=hidden -ffunction-sections -fdata-sections
LDFLAGS += -pie -Wl,-z,relro,-z,now -Wl,--gc-sections -Wl,--as-needed $(if $(SANITIZE),-fsanitize=$(SANITIZE))
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)
LIB_CRYPTO := -lmbedcrypto
LIBS := $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null) $(LIB_CRYPTO) -lm
# libmicrohttpd is the agent's and the test servers' only.
CMD_LIBS := $(filter-out -lmicrohttpd,$(LIBS))
CHECK_LIBS := $(shell $(PKG_CONFIG) --libs check 2>/dev/null)
CHECK_CFLAGS := $(shell $(PKG_CONFIG) --cflags check 2>/dev/null)
CPPFLAGS += $(PKG_CFLAGS)

## all          karp-agent, kubectl-karp, karp-sim and karp-ec2 in build/
.PHONY: all help
all: $(BUILD)/karp-agent $(BUILD)/kubectl-karp $(BUILD)/karp-sim $(BUILD)/karp-ec2

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

# ---- layers: one archive each; what a layer may use stands in tests/layers -----------------------
LAYERS := base core net kube aws
src = $(sort $(wildcard $(1)/*.c))
obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

BASE_SRC := $(call src,common/base)
CORE_SRC := $(call src,common/core) $(foreach d,sched improve disrupt consent ec2,$(call src,common/core/$(d)))
NET_SRC := $(call src,common/net)
KUBE_SRC := $(call src,common/kube)
AWS_SRC := $(call src,common/aws)
# A binary's main and what only the binary needs (sockets, signals) stay out of the archives that
# tests link.
AGENT_MAIN := agent/main.c agent/httpd.c
AGENT_SRC := $(filter-out $(AGENT_MAIN),$(call src,agent) $(foreach d,cloud store work lead plan claim history observe leave consent disrupt,$(call src,agent/$(d))))
CMD_MAIN := cmd/main.c
CMD_SRC := $(filter-out $(CMD_MAIN),$(call src,cmd) $(foreach d,read status explain disrupt act,$(call src,cmd/$(d))))
SIM_MAIN := tests/sim/karp_sim.c tests/sim/karp_ec2.c tests/sim/ec2_http.c
SIM_SRC := $(filter-out $(SIM_MAIN),$(call src,tests/sim) $(call src,tests/sim/kube) $(call src,tests/sim/kube/sched) \
           $(call src,tests/sim/kube/ctl) $(call src,tests/sim/kube/rule) $(call src,tests/sim/ec2) $(call src,tests/sim/diff))

CATALOG_DATA := $(wildcard common/core/data/*.json.gz)
CATALOG_C := $(BUILD)/gen/catalog_table.c
CATALOG_O := $(BUILD)/obj/gen/catalog_table.o

$(BUILD)/gen/catalog_gen: common/core/data/catalog_gen.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -O2 -D_GNU_SOURCE $(WARN) $(PKG_CFLAGS) -o $@ $< -ljansson -lz -lm
$(CATALOG_C): $(BUILD)/gen/catalog_gen $(CATALOG_DATA)
	$(if $(filter 1,$(V)),,@echo "  GEN   $@")
	$(Q)ASAN_OPTIONS=detect_leaks=0 $< common/core/data > $@.tmp && mv $@.tmp $@
$(CATALOG_O): $(CATALOG_C)
	@mkdir -p $(@D)
	$(if $(filter 1,$(V)),,@echo "  CC    $<")
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(if $(filter 1,$(V)),,@echo "  CC    $<")
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

define archive
	@mkdir -p $(@D)
	$(if $(filter 1,$(V)),,@echo "  AR    $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)
endef
$(BUILD)/libbase.a: $(call obj,$(BASE_SRC)) ; $(archive)
$(BUILD)/libcore.a: $(call obj,$(CORE_SRC)) $(CATALOG_O) ; $(archive)
$(BUILD)/libnet.a: $(call obj,$(NET_SRC)) ; $(archive)
$(BUILD)/libkube.a: $(call obj,$(KUBE_SRC)) ; $(archive)
$(BUILD)/libaws.a: $(call obj,$(AWS_SRC)) ; $(archive)
$(BUILD)/libagent.a: $(call obj,$(AGENT_SRC)) ; $(archive)
$(BUILD)/libcmd.a: $(call obj,$(CMD_SRC)) ; $(archive)
$(BUILD)/libsim.a: $(call obj,$(SIM_SRC)) ; $(archive)

COMMON_A := $(BUILD)/libkube.a $(BUILD)/libaws.a $(BUILD)/libnet.a $(BUILD)/libcore.a $(BUILD)/libbase.a
define link
	@mkdir -p $(@D)
	$(if $(filter 1,$(V)),,@echo "  LINK  $@")
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(1)
endef

$(BUILD)/karp-agent: $(call obj,$(AGENT_MAIN)) $(BUILD)/libagent.a $(COMMON_A)
	$(call link,$(LIBS))
$(BUILD)/kubectl-karp: $(call obj,$(CMD_MAIN)) $(BUILD)/libcmd.a $(COMMON_A)
	$(call link,$(CMD_LIBS))
$(BUILD)/karp-sim: $(BUILD)/obj/tests/sim/karp_sim.o $(BUILD)/libsim.a $(BUILD)/libagent.a $(BUILD)/libcmd.a $(COMMON_A)
	$(call link,$(LIBS))
$(BUILD)/karp-ec2: $(BUILD)/obj/tests/sim/karp_ec2.o $(BUILD)/obj/tests/sim/ec2_http.o $(BUILD)/libsim.a $(COMMON_A)
	$(call link,$(LIBS))
$(BUILD)/karp-bench: $(call obj,$(call src,tests/bench)) $(BUILD)/libcmd.a $(COMMON_A)
	$(call link,$(CMD_LIBS))

# ---- tests ----------------------------------------------------------------------------------------
UNIT_SRC := $(call src,tests/unit)
UNIT_BIN := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(filter tests/unit/test_%.c,$(UNIT_SRC)))
$(BUILD)/obj/tests/unit/%.o: CPPFLAGS += $(CHECK_CFLAGS)
$(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libsim.a $(BUILD)/libagent.a $(BUILD)/libcmd.a $(COMMON_A)
	$(call link,$(CHECK_LIBS) $(LIBS))
.PRECIOUS: $(BUILD)/obj/%.o
.SECONDARY:

DEPS := $(shell find $(BUILD) -name '*.d' 2>/dev/null)
-include $(DEPS)

.PHONY: deps unit-bins test unit scenarios campaign differential demo e2e check-layers layer-archives hdr-check lint format \
        bench bench-core bench-e2e install clean
unit-bins: $(UNIT_BIN)
layer-archives: $(foreach l,base core net kube aws agent cmd,$(BUILD)/lib$(l).a)

JOBS := $(shell nproc 2>/dev/null || echo 2)

## demo         plays B1, B2 and B4 (scale out, scale out further, scale to zero) in virtual time
demo:
	@tests/deps.sh build
	@$(MAKE) --no-print-directory -j$(JOBS) build/karp-sim
	@tests/demo.sh build

## test         everything: unit tables, scenarios, sanitizers, layers, end-to-end on a real control plane
test:
	@tests/deps.sh test
	@$(MAKE) --no-print-directory DEVELOPER=1 -j$(JOBS) all karp-bench unit-bins
	@$(MAKE) --no-print-directory DEVELOPER=1 SANITIZE=address,undefined -j$(JOBS) build/san/karp-sim unit-bins
	@tests/run.sh static unit scenarios sanitized e2e

## unit         unit tables only
unit:
	@$(MAKE) --no-print-directory DEVELOPER=1 -j$(JOBS) unit-bins
	@tests/run.sh unit

## scenarios    tests/scenarios in virtual time only
scenarios:
	@$(MAKE) --no-print-directory -j$(JOBS) build/karp-sim
	@tests/run.sh scenarios

## campaign     5,000 seeds of tests/scenarios/mixed.yaml under harsh faults, on all cores
campaign:
	@$(MAKE) --no-print-directory -j$(JOBS) build/karp-sim
	@build/karp-sim campaign tests/scenarios/mixed.yaml --seeds $(or $(SEEDS),1-5000) --faults harsh

## differential plans, and upstream's, for 2,040 random clusters against the simulated kube-scheduler
differential:
	@$(MAKE) --no-print-directory -j$(JOBS) build/karp-sim
	@build/karp-sim differential --clusters $(or $(CLUSTERS),2000) --seed $(or $(SEED),1)
	@build/karp-sim differential --kind usual --clusters $(or $(USUAL),40) --seed $(or $(SEED),1)

## e2e          end-to-end on a real control plane only
e2e:
	@tests/deps.sh test
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/run.sh e2e

## check-layers every layer uses only what it may (tests/layers)
check-layers:
	@$(MAKE) --no-print-directory -s LAYERS=1 SANITIZE= DEVELOPER= -j$(JOBS) layer-archives
	@tests/layers/check.sh build/layers

## hdr-check    every header compiles alone
hdr-check:
	@tests/layers/headers.sh $(CC) $(CPPFLAGS) -std=c11 $(WARN) -Werror

## lint         layout by clang-format, scripts by shellcheck
lint:
	@clang-format --dry-run -Werror $$(git ls-files -co --exclude-standard '*.c' '*.h')
	@shellcheck -S warning .ci/run $$(git ls-files -co --exclude-standard '*.sh')
	@echo "lint: clean"

## format       lays the sources out
format:
	@clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

## bench        ratios to upstream side by side in one run: its decisions, then both on a control plane
bench: bench-core bench-e2e

## bench-core   the decision core and upstream's own by turns on the inputs of tests/bench/data
bench-core: karp-bench
	@tests/bench/core.sh

## bench-drain  500 nodes with 5,000 pods drained at once, in the simulator
.PHONY: bench-drain
bench-drain:
	@$(MAKE) --no-print-directory -j$(JOBS) build/karp-sim
	@tests/bench/drain.sh

## karp-bench   build/karp-bench, which times the decision core by itself on files (--help)
.PHONY: karp-bench
karp-bench: $(BUILD)/karp-bench

## bench-e2e    ours and upstream's KWOK build alternately on one control plane
bench-e2e:
	@tests/deps.sh test
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/bench/e2e.sh

## install      binaries to DESTDIR/PREFIX/bin
install: $(BUILD)/karp-agent $(BUILD)/kubectl-karp
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BUILD)/karp-agent $(BUILD)/kubectl-karp $(DESTDIR)$(PREFIX)/bin/

## clean        removes build/
clean:
	rm -rf build
