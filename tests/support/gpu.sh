# SPDX-License-Identifier: Apache-2.0
# gpu.sh - sourced by scripts that need a GPU: $hone is the tool, and the script is skipped (77), in words, where the
# tool finds none. The sourcing script has set $here, its own folder below tests/.
hone=${HONE_BIN:-${HONE_BUILD_DIR:-$here/../../build/release}/hone}
if "$hone" doctor --json 2>/dev/null | grep -q '"gpu": "none: '; then
  echo "skipped: no GPU"
  exit 77
fi
