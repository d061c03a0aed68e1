#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh - a standard network, written as ONNX, built into an engine, run, and profiled layer by layer.
# usage: tools/demo.sh HONE FOLDER
set -eu
hone=$1
folder=$2
mkdir -p "$folder"

# Shows a command as a user would type it, then runs it.
step() {
  printf '\n$ hone %s\n' "$*"
  "$hone" "$@"
}

step zoo mobilenet_v2 -o "$folder/mobilenet_v2.onnx"
step build "$folder/mobilenet_v2.onnx" -o "$folder/mobilenet_v2.hone"

# A seeded stand-in for a photograph: 1x3x224x224, f32, mean 0.
python3 - "$folder/input.npy" <<'PYTHON'
import array, random, struct, sys
random.seed(1)
values = array.array("f", (random.gauss(0, 1) for _ in range(3 * 224 * 224)))
if sys.byteorder == "big":
    values.byteswap()
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 224, 224), }"
header = header.ljust(128 - 10 - 1) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())
PYTHON

step run "$folder/mobilenet_v2.hone" --input "input=$folder/input.npy" --output-dir "$folder"
step profile "$folder/mobilenet_v2.hone"
printf '\nThe files are in %s\n' "$folder"
