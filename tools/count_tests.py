#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_tests.py - CTest's result as `N passed, N failed, N skipped`.

usage: count_tests.py RESULT.xml LABELS.json CTEST_EXIT_CODE
A test that reports a skip although HONE_TEST_DATA is there counts as failed, unless what it lacks is a GPU."""
import json
import os
import sys
import xml.etree.ElementTree as xml


def labels_by_test(path):
    with open(path, encoding="utf-8") as file:
        tests = json.load(file)["tests"]
    return {test["name"]: {label for p in test.get("properties", []) if p["name"] == "LABELS" for label in p["value"]}
            for test in tests}


def outcome(case, labels, data_is_there):
    """passed, failed or skipped; CTest also writes <skipped> for a program that was never built."""
    if case.get("status") == "run":
        return "passed"
    skipped = case.find("skipped")
    if skipped is None or not (skipped.get("message") or "").startswith(("SKIP_RETURN_CODE", "Disabled")):
        return "failed"
    if data_is_there and "gpu" not in labels:
        print(f"{case.get('name')}: skipped although the test data is there: counted as failed")
        return "failed"
    return "skipped"


def main(result_path, labels_path, ctest_code):
    labels = labels_by_test(labels_path)
    data_is_there = os.path.isdir(os.environ.get("HONE_TEST_DATA", ""))
    count = {"passed": 0, "failed": 0, "skipped": 0}
    cases = xml.parse(result_path).getroot().iter("testcase") if os.path.exists(result_path) else []
    for case in cases:
        count[outcome(case, labels.get(case.get("name"), set()), data_is_there)] += 1
    if ctest_code != 0 and count["failed"] == 0:
        print(f"ctest ended with code {ctest_code}")
        count["failed"] = 1
    if count["passed"] + count["failed"] == 0:
        print("no test ran")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 0 if count["failed"] == 0 and count["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
