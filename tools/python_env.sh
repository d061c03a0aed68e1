#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python_env.sh - a virtual environment with exactly the packages of a requirements file. Made once, and again when the
# file or Python changes; asks no package index otherwise.
# usage: tools/python_env.sh REQUIREMENTS FOLDER
# Exit code 0: FOLDER/bin/python3 has the packages. 1: they cannot be had, the reason is the last line, no FOLDER is left.
set -u
requirements=$1
folder=$2
stamp=$folder/made-from

# The file with those that it names, and the interpreter: when one changes, so does this.
recipe() {
  python3 -c 'import sys; print(sys.version, sys.base_prefix)'
  here=$(dirname "$requirements")
  sed -n 's/^-r //p' "$requirements" | while read -r other; do cat "$here/$other"; done
  cat "$requirements"
}
give_up() {
  rm -rf "$folder"
  echo "$*"
  exit 1
}

wanted=$(recipe) || give_up "python3 does not run"
[ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ] || exit 0
log=$folder.log
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
echo "making $folder from $requirements"
python3 -m venv "$folder" >"$log" 2>&1 || give_up "python3 -m venv fails (Debian: apt-get install python3-venv; see $log)"
"$folder/bin/python3" -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: \
  --retries "${PIP_RETRIES:-1}" --timeout "${PIP_DEFAULT_TIMEOUT:-15}" -r "$requirements" >>"$log" 2>&1 </dev/null ||
  give_up "pip cannot install them: $(grep -v '^ *$' "$log" | tail -n 1) (see $log)"
echo "$wanted" >"$stamp"
