#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_ctest.sh - runs CTest in a build folder; the last line is `N passed, N failed, N skipped`, before it what was skipped.
# usage: tools/run_ctest.sh BUILD [ctest options]
# Fails when a test failed, when none ran, and when one was skipped for want of data or packages that are there.
set -u
build=$1; shift
here=$(cd "$(dirname "$0")" && pwd)
: "${HONE_TEST_DATA:=$here/../../shared}"
export HONE_TEST_DATA
[ -d "$HONE_TEST_DATA" ] || echo "no folder $HONE_TEST_DATA: tests that need its models and images will be skipped"
# Tests find the environment themselves (tests/CMakeLists.txt); without it they try the system's Python.
HONE_TEST_PACKAGES=there
sh "$here/python_env.sh" "$here/../tests/requirements.txt" "$here/../build/test-env" || {
  HONE_TEST_PACKAGES=absent
  echo "the packages of tests/requirements.txt cannot be installed: tests that need one which is not here will be skipped"
}
export HONE_TEST_PACKAGES
result=$build/ctest_result.xml
rm -f "$result"
labels=$build/ctest_labels.json
ctest --test-dir "$build" --show-only=json-v1 >"$labels" || exit 1
ctest --test-dir "$build" --output-on-failure --output-junit "$(cd "$build" && pwd)/ctest_result.xml" "$@" </dev/null
python3 "$here/count_tests.py" "$result" "$labels" $?
