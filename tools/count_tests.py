#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_tests.py - CTest's result as `N passed, N failed, N skipped`, after the name and the reason of all that was skipped.

usage: count_tests.py RESULT.xml LABELS.json CTEST_EXIT_CODE
A test that reports a skip although what it needs is there counts as failed: the folder HONE_TEST_DATA, and the packages of
tests/requirements.txt unless HONE_TEST_PACKAGES is `absent`; a headless Chromium where one can be started. A GPU may always
be missing."""
import json
import os
import re
import sys
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "support"))
import chromium  # noqa: E402


def labels_by_test(path):
    with open(path, encoding="utf-8") as file:
        tests = json.load(file)["tests"]
    return {test["name"]: {label for p in test.get("properties", []) if p["name"] == "LABELS" for label in p["value"]}
            for test in tests}


def reason_of(case):
    """The line in which a test says why it is skipped."""
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
    said = [line for line in lines if "skipped" in line.lower()] or lines or ["no reason given"]
    return re.sub(r"^skipped: ", "", said[0])


def skipped_parts(said):
    """What a test that ran left out, each with its reason: the line before cmocka's, which names a part once more at its end."""
    parts, before = {}, ""
    for line in said.splitlines():
        part = re.fullmatch(r"\[  SKIPPED \] (\w+)", line)
        if part:
            parts.setdefault(part.group(1), before if before and not before.startswith("[") else "no reason given")
        elif re.search(r" (?:is|are) left out$", line):
            parts[line] = ""
        before = line
    return [f"{part}: {reason}" if reason else part for part, reason in parts.items()]


def may_skip(labels, reason):
    if "gpu" in labels:
        return True
    if "packages are not installed" in reason:
        return os.environ.get("HONE_TEST_PACKAGES") == "absent"
    if "no headless Chromium" in reason:
        return not chromium.find()
    return not os.path.isdir(os.environ.get("HONE_TEST_DATA", ""))


def outcome(case, labels):
    """passed, failed or skipped; CTest also writes <skipped> for a program that was never built."""
    name = case.get("name")
    if case.get("status") == "run":
        for part in skipped_parts(case.findtext("system-out") or ""):
            print(f"skipped: a part of {name}: {part}")
        return "passed"
    skipped = case.find("skipped")
    if skipped is None or not (skipped.get("message") or "").startswith(("SKIP_RETURN_CODE", "Disabled")):
        return "failed"
    reason = reason_of(case)
    if not may_skip(labels, reason):
        print(f"{name}: skipped although what it needs is there: counted as failed ({reason})")
        return "failed"
    print(f"skipped: {name}: {reason}")
    return "skipped"


def main(result_path, labels_path, ctest_code):
    labels = labels_by_test(labels_path)
    count = {"passed": 0, "failed": 0, "skipped": 0}
    cases = xml.parse(result_path).getroot().iter("testcase") if os.path.exists(result_path) else []
    for case in cases:
        count[outcome(case, labels.get(case.get("name"), set()))] += 1
    if ctest_code != 0 and count["failed"] == 0:
        print(f"ctest ended with code {ctest_code}")
        count["failed"] = 1
    if count["passed"] + count["failed"] == 0:
        print("no test ran")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 0 if count["failed"] == 0 and count["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
