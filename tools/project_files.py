# SPDX-License-Identifier: Apache-2.0
"""project_files.py - what the checks have in common: which files to look at, and C text without its comments."""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.environ.get("HONE_CHECK_ROOT") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def listed(arguments):
    """The files named on the command line, else all that git tracks, as paths below the project's root."""
    if arguments:
        return [os.path.relpath(os.path.abspath(name), ROOT) for name in arguments]
    if shutil.which("git"):
        git = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=False)
        if git.returncode == 0:
            names = git.stdout.decode().split("\0")
            return sorted(name for name in names if name and os.path.isfile(os.path.join(ROOT, name)))
    found = []  # no git, or an unpacked archive
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in ("build", ".git", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files]
    return sorted(found)


def read(path):
    """The file's text, or None when it is not text."""
    with open(os.path.join(ROOT, path), "rb") as file:
        data = file.read()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def without_comments(text, keep_strings=False):
    """C text with comments (and the insides of literals) blanked; line numbers stay."""
    def blank(match):
        token = match.group()
        if keep_strings and token[0] in "\"'":
            return token
        return re.sub(r"[^\n]", " ", token)
    return TOKEN.sub(blank, text)


def finish(check, problems, files):
    """Prints the problems and ends the program."""
    for problem in problems:
        print(problem)
    print(f"{check}: {files} files, {len(problems)} problems")
    sys.exit(1 if problems else 0)
