#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_ctest.sh - runs CTest in a build folder; the last line is `N passed, N failed, N skipped`.
# usage: tools/run_ctest.sh BUILD [ctest options]
# Fails when a test failed, when none ran, and when one was skipped for want of data that is there.
set -u
build=$1; shift
here=$(dirname "$0")
: "${HONE_TEST_DATA:=$(cd "$here/.." && pwd)/../shared}"
export HONE_TEST_DATA
[ -d "$HONE_TEST_DATA" ] || echo "no folder $HONE_TEST_DATA: tests that need its models and images will be skipped"
result=$build/ctest_result.xml
rm -f "$result"
labels=$build/ctest_labels.json
ctest --test-dir "$build" --show-only=json-v1 >"$labels" || exit 1
ctest --test-dir "$build" --output-on-failure --output-junit "$(cd "$build" && pwd)/ctest_result.xml" "$@" </dev/null
python3 "$here/count_tests.py" "$result" "$labels" $?
