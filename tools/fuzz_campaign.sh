#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_campaign.sh - the whole campaign of damaged engines and models: 10^6 engines, 3 * 10^5 models, or a part of it.
# usage: tools/fuzz_campaign.sh [BUILD]      BUILD: build/release (for numbers), build/asan (for what is not seen else)
# In the environment: SEED (1), FROM (0) and SHARE (100; percent of the cases) to go on where an earlier one stopped,
# JOBS (all processors), FAMILIES, KEEP (BUILD/fuzz-found: each finding and what a sanitizer said of it).
# `BUILD/fuzz/hone_campaign FAMILY --seed N --only CASE` tries one again.
set -eu
build=${1:-build/release}
seed=${SEED:-1}
share=${SHARE:-100}
jobs=${JOBS:-$(nproc)}
keep=${KEEP:-$build/fuzz-found}
families=${FAMILIES:-engine-bytes engine-tokens engine-splices model-structure model-bytes}
cmake --build "$build" --parallel "$jobs" --target hone_campaign test_plugin_far
HONE_BUILD_DIR=$(cd "$build" && pwd)
export HONE_BUILD_DIR
models="fuzz/corpus/onnx fuzz/corpus/model tests/malformed/files"
suite=$(tests/onnx/unpack) && models="$models $suite"

status=0
for family in $families; do
  case $family in
  engine-bytes) cases=400000 given="" ;; # all of them: every byte in four ways, twice
  engine-tokens) cases=400000 given="" ;;
  engine-splices) cases=300000 given="" ;;
  model-bytes) cases=100000 given=$models ;;
  *) cases=200000 given=$models ;;
  esac
  # shellcheck disable=SC2086
  "$build/fuzz/hone_campaign" "$family" --seed "$seed" --from "${FROM:-0}" --count $((cases * share / 100)) \
    --jobs "$jobs" --keep "$keep" $given || status=1
done
exit $status
