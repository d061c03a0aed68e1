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

step run "$folder/mobilenet_v2.hone" --output-dir "$folder"
step profile "$folder/mobilenet_v2.hone"
printf '\nThe files are in %s\n' "$folder"
