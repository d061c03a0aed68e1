# SPDX-License-Identifier: Apache-2.0
# Thin front of CMake: the builds lie in build/PRESET. Needs nothing but make and coreutils to begin with.
PRESET ?= release
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
BUILD := build/$(PRESET)
export HONE_TEST_DATA ?= $(CURDIR)/../shared
export HONE_BIN = $(CURDIR)/$(BUILD)/hone

.PHONY: all deps configure build demo test conformance models fuzz-smoke bench install test-gpu check clean
all: deps build

deps:
	@sh tools/install_deps.sh

configure:
	@test -f $(BUILD)/CMakeCache.txt || cmake --preset $(PRESET) $(if $(shell command -v ninja),-G Ninja,) $(if $(HONE_WERROR),-DHONE_WERROR=$(HONE_WERROR),)

build: configure
	@cmake --build $(BUILD) --parallel $(JOBS)

demo: deps
	@$(MAKE) --no-print-directory configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target hone
	@sh tools/demo.sh $(BUILD)/hone build/demo

test: deps
	@$(MAKE) --no-print-directory build
	@sh tools/run_ctest.sh $(BUILD) -j $(JOBS)

conformance: deps
	@$(MAKE) --no-print-directory build
	@tests/onnx/run

models: deps
	@$(MAKE) --no-print-directory build
	@tests/models/run

fuzz-smoke: deps
	@sh tools/fuzz_smoke.sh $(FUZZ_SECONDS)

bench: deps
	@$(MAKE) --no-print-directory build
	@python3 bench/compare.py

install: deps
	@$(MAKE) --no-print-directory build
	@cmake --install $(BUILD) --prefix $(PREFIX)

test-gpu: deps
	@$(MAKE) --no-print-directory build
	@sh tools/run_ctest.sh $(BUILD) -L gpu

check:
	@sh tools/check_all

clean:
	@rm -rf build
