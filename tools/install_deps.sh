#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install_deps.sh - installs what the build and the tests need, or names it. Calls no package manager when all is there.
# usage: tools/install_deps.sh [--ci]      --ci: what only the continuous build uses, too (clang, clang-format)
set -eu

missing=""
need() { missing="$missing $1"; }
has_command() { command -v "$1" >/dev/null 2>&1; }

compiler=${CC:-}
[ -n "$compiler" ] || for name in cc gcc clang; do
  if has_command "$name"; then compiler=$name; break; fi
done

# True when a program that includes the header and is linked with the flags can be made.
has_library() { # header, flags...
  header=$1; shift
  printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <%s>\nint main(void) { return 0; }\n' "$header" |
    $compiler -x c -o /dev/null - "$@" >/dev/null 2>&1
}

# CMake 3.25 is the oldest that knows our presets.
has_cmake() {
  has_command cmake || return 1
  version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  [ "${version% *}" -gt 3 ] || { [ "${version% *}" -eq 3 ] && [ "${version#* }" -ge 25 ]; }
}

has_cmake || need cmake
has_command make || has_command ninja || need make
has_command pkg-config || need pkg-config
has_command xz || need xz-utils
if has_command python3; then
  python3 -c 'import numpy' >/dev/null 2>&1 || need python3-numpy
else
  need python3; need python3-numpy
fi
if [ -n "$compiler" ] && has_library stdio.h; then
  has_library cmocka.h -lcmocka || need libcmocka-dev
  has_library xxhash.h || need libxxhash-dev
  has_library png.h -lpng || need libpng-dev
  has_library turbojpeg.h -lturbojpeg || need libturbojpeg0-dev
else
  for package in gcc libc6-dev libcmocka-dev libxxhash-dev libpng-dev libturbojpeg0-dev; do need $package; done
fi
if [ "${1:-}" = --ci ]; then
  has_command clang || need clang
  has_command clang-format || need clang-format
fi

[ -n "$missing" ] || exit 0
echo "missing:$missing"
if ! has_command apt-get; then
  echo "no apt-get here: please install them (the names are Debian's) and try again" >&2
  exit 1
fi
as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! has_command sudo; then
    echo "neither root nor sudo: please run  apt-get install$missing" >&2
    exit 1
  fi
  as_root=sudo
  [ -t 0 ] || as_root="sudo -n"
fi
install_missing() {
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing </dev/null
}
install_missing || { $as_root apt-get update -q </dev/null && install_missing; } || {
  echo "could not install:$missing" >&2
  exit 1
}
