#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build_docs.sh - the documentation as a site: docs/*.md, the READMEs and the reference that the tool writes, by Sphinx.
# usage: tools/build_docs.sh HONE FOLDER
# Exit code 1: Sphinx cannot be had, or it has a warning; what was in FOLDER stays.
set -eu
hone=$(realpath "$1")
out=$2
sh tools/python_env.sh docs/site/requirements.txt build/docs-env
pages=$out.pages
rm -rf "$pages" "$out.new"
mkdir -p "$pages"
cp docs/site/conf.py docs/site/index.md docs/*.md README.md README.zh-CN.md CHANGELOG.md CONTRIBUTING.md SECURITY.md "$pages"
"$hone" help --markdown > "$pages/CLI.md"
# In one folder docs/X.md is X.md.
sed -i 's|](docs/|](|g; s|](\.\./|](|g' "$pages"/*.md
# What no list of index.md names is a page all the same.
{ echo; echo '```{toctree}'; echo ':hidden:'
  for page in "$pages"/*.md; do
    name=$(basename "$page" .md)
    [ "$name" = index ] || grep -qx "$name" "$pages/index.md" || echo "$name"
  done
  echo '```'; } >> "$pages/index.md"
HONE_VERSION=$("$hone" version | cut -d' ' -f2) build/docs-env/bin/python3 -m sphinx -q -W --keep-going -b html "$pages" "$out.new"
rm -rf "$out" "$pages"
mv "$out.new" "$out"
echo "$out/index.html"
