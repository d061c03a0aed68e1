# SPDX-License-Identifier: Apache-2.0
# Thin front of CMake: the builds lie in build/PRESET. Needs nothing but make and coreutils to begin with.
PRESET ?= release
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
BUILD := build/$(PRESET)
export HONE_TEST_DATA ?= $(CURDIR)/../shared
export HONE_BIN = $(CURDIR)/$(BUILD)/hone
CACHE := $(BUILD)/CMakeCache.txt
AGAIN := $(MAKE) --no-print-directory

.PHONY: all deps deps-test configure configure-tests build build-tests demo test quick conformance models fuzz-smoke fuzz-campaign \
  bench install packages docs test-gpu test-ort test-triton test-torch test-ray test-wheel test-classic \
  test-packages check clean
all: deps
	@$(AGAIN) build

# What the build needs; the tests need more.
deps:
	@sh tools/install_deps.sh build

deps-test:
	@sh tools/install_deps.sh test

configure:
	@test -f $(CACHE) || cmake --preset $(PRESET) -DHONE_TESTS=OFF $(if $(shell command -v ninja),-G Ninja,) $(if $(HONE_WERROR),-DHONE_WERROR=$(HONE_WERROR),) \
	  $(if $(HONE_CUDA_ARCHITECTURES),"-DHONE_CUDA_ARCHITECTURES=$(HONE_CUDA_ARCHITECTURES)",) \
	  $(if $(HONE_CUDA_FLAGS),"-DHONE_CUDA_FLAGS=$(HONE_CUDA_FLAGS)",)

configure-tests: configure
	@grep -qE '^HONE_TESTS:[A-Z]+=ON$$' $(CACHE) || cmake -DHONE_TESTS=ON $(BUILD)

build: configure
	@cmake --build $(BUILD) --parallel $(JOBS)

build-tests: configure-tests
	@cmake --build $(BUILD) --parallel $(JOBS)

demo: deps
	@$(AGAIN) configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target hone
	@sh tools/demo.sh $(BUILD)/hone build/demo

test: deps-test
	@$(AGAIN) build-tests
	@sh tools/run_ctest.sh $(BUILD) -j $(JOBS)

# After an edit: the unit tests, without those that take long.
quick: deps-test
	@$(AGAIN) build-tests
	@sh tools/run_ctest.sh $(BUILD) -L '^(unit|corpus)$$' -LE '^(slow|long)$$' -j $(JOBS)

conformance: deps-test
	@$(AGAIN) build-tests
	@tests/onnx/run

models: deps-test
	@$(AGAIN) build-tests
	@tests/models/run

fuzz-smoke: deps
	@sh tools/fuzz_smoke.sh $(FUZZ_SECONDS)

fuzz-campaign: deps-test
	@$(AGAIN) build-tests
	@sh tools/fuzz_campaign.sh $(BUILD)

bench: deps-test
	@$(AGAIN) configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target hone --target hone_shared
	@sh tools/python_env.sh bench/requirements.txt build/bench-env
	@build/bench-env/bin/python3 bench/compare.py --write

install: deps
	@$(AGAIN) configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target hone_installed
	@cmake --install $(BUILD) --prefix $(PREFIX)

# Debian packages in the build's folder packages/.
packages: deps
	@$(AGAIN) configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target hone_installed $(if $(wildcard $(BUILD)/python),hone_python,)
	@cd $(BUILD) && cpack -G DEB

# The documentation as a site, in build/site; its Python packages (docs/site/requirements.txt) lie in build/docs-env.
docs: deps
	@$(AGAIN) configure
	@cmake --build $(BUILD) --parallel $(JOBS) --target hone
	@sh tools/build_docs.sh $(BUILD)/hone build/site

test-gpu: deps-test
	@$(AGAIN) build-tests
	@sh tools/run_ctest.sh $(BUILD) -L gpu

# The ONNX Runtime provider on all networks, and in the oldest packages that it runs in; `make test` has some networks
# in the newest one.
test-ort: export HONE_BUILD_DIR = $(CURDIR)/$(BUILD)
test-ort: deps-test
	@$(AGAIN) build-tests
	@sh tools/python_env.sh tests/requirements.txt build/test-env
	@build/test-env/bin/python3 tests/ort/networks.py
	@tests/ort/versions

# The Triton backend in the real tritonserver (60 MB of wheels), and hone-server beside it, by Triton's client.
test-triton: export HONE_BUILD_DIR = $(CURDIR)/$(BUILD)
test-triton: deps-test
	@$(AGAIN) build-tests
	@sh tools/python_env.sh tests/triton/requirements.txt build/triton-env
	@build/triton-env/bin/python3 tests/triton/run.py

# torch.compile(backend="hone"), with PyTorch and torchvision (gigabytes from the package index, build/torch-env).
test-torch: export HONE_BUILD_DIR = $(CURDIR)/$(BUILD)
test-torch: deps
	@$(AGAIN) configure
	@cmake -DHONE_PYTHON=ON $(BUILD) >/dev/null && cmake --build $(BUILD) --parallel $(JOBS) --target hone_python
	@tests/torch/run

# hone.ray on three nodes in network namespaces, one killed amid a job: as root; 130 MB of wheels, a minute.
test-ray: export HONE_BUILD_DIR = $(CURDIR)/$(BUILD)
test-ray: deps
	@$(AGAIN) configure
	@cmake -DHONE_PYTHON=ON $(BUILD) >/dev/null && cmake --build $(BUILD) --parallel $(JOBS) --target hone_python
	@tests/ray/run

# The Debian packages in a fresh root of this release (debootstrap, as root: a minute, 150 MB); `make test` unpacks them.
test-packages: export HONE_BUILD_DIR = $(CURDIR)/$(BUILD)
test-packages: packages
	@tests/packages/run --root

# The Python wheel on fresh Debian 12 and 13: from its file to a photo's label and a profile, timed (as root, with the test data).
test-wheel: deps
	@sh tools/python_env.sh tests/requirements.txt build/test-env
	@build/test-env/bin/python3 tests/packages/wheel

# Models of scikit-learn, LightGBM and XGBoost, trained and exported there: packages of some hundred megabytes.
test-classic: deps-test
	@$(AGAIN) build
	@sh tools/python_env.sh tests/models/classic_requirements.txt build/classic-env
	@HONE_BIN=$(CURDIR)/$(BUILD)/hone build/classic-env/bin/python3 tests/models/classic.py

check:
	@sh tools/check_all

clean:
	@rm -rf build
