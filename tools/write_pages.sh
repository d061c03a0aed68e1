#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# write_pages.sh - man pages and completions, as the tool writes them from its rows.
# usage: tools/write_pages.sh HONE FOLDER
set -eu
hone=$1
folder=$2
mkdir -p "$folder/man1"
"$hone" help --man > "$folder/man1/hone.1"
for command in $("$hone" help --json | sed -n 's/^  {"name": "\([a-z]*\)".*/\1/p'); do
  "$hone" help "$command" --man > "$folder/man1/hone-$command.1"
done
for shell in bash zsh fish; do
  "$hone" completion $shell > "$folder/$shell"
done
"$hone" help --markdown > "$folder/CLI.md"
