#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz_smoke.sh - each fuzz target for some seconds, from its corpus; needs clang with libFuzzer.
# usage: tools/fuzz_smoke.sh [SECONDS [BUILD]]
set -eu
seconds=${1:-60}
build=${2:-build/fuzz}
if ! command -v clang >/dev/null 2>&1; then
  echo "clang not found: libFuzzer comes with it (Debian: apt-get install clang)" >&2
  exit 1
fi
if [ ! -f "$build/CMakeCache.txt" ]; then
  generator=""
  if command -v ninja >/dev/null 2>&1; then generator="-G Ninja"; fi
  # shellcheck disable=SC2086
  cmake --preset fuzz -B "$build" $generator
fi
cmake --build "$build" --parallel "$(nproc)"

targets=0
findings=0
for source in fuzz/*_fuzzer.c; do
  [ -f "$source" ] || continue
  name=$(basename "$source" _fuzzer.c)
  work=$build/fuzz-state/$name
  mkdir -p "$work/found" "$work/new"
  corpus=fuzz/corpus/$name
  [ -d "$corpus" ] || corpus=""
  targets=$((targets + 1))
  echo "fuzz: $name, $seconds s"
  # shellcheck disable=SC2086
  "$build/fuzz/${name}_fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$work/found/" "$work/new" $corpus >"$work/log" 2>&1 </dev/null || {
    findings=$((findings + 1))
    tail -n 60 "$work/log"
  }
  grep -h 'stat::number_of_executed_units' "$work/log" || true
done
echo "fuzz: $targets targets, $findings findings"
[ "$targets" -gt 0 ] && [ "$findings" -eq 0 ]
