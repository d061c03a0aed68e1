#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install_deps.sh - installs what the build and the tests need, or names it. Calls no package manager when all is there.
# usage: tools/install_deps.sh [build|test|ci]
# build: what the tool and the libraries need. test: that, and what the tests need (the default). ci: that, and what only
# the continuous build uses (clang, clang-format). Fails when something is missing that nothing works without; what can be
# done without is named.
set -eu
level=${1:-test}
case $level in
  build | test | ci) ;;
  *) echo "install_deps.sh: unknown level $level; known: build, test, ci" >&2; exit 2 ;;
esac

needed="" # nothing works without
wanted="" # something is left out without
browser="" # the same, apart from the others since not every distribution has it
need() { needed="$needed $1"; }
want() { wanted="$wanted $1"; }
has_command() { command -v "$1" >/dev/null 2>&1; }

compiler=${CC:-}
[ -n "$compiler" ] || for name in cc gcc clang; do
  if has_command "$name"; then compiler=$name; break; fi
done

# True when a program that includes the header and is linked with the flags can be made.
has_library() { # header, flags...
  header=$1; shift
  [ -n "$compiler" ] || return 1
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
[ -n "$compiler" ] || need gcc
has_library stdio.h || need libc6-dev
has_library xxhash.h || need libxxhash-dev
images=want # without them the tool reads no images
if [ "$level" != build ]; then
  images=need
  has_library cmocka.h -lcmocka || need libcmocka-dev
  has_command c++ || has_command clang++ || need g++ # the headers are compiled as C++
  has_command xz || need xz-utils
  has_command python3 || need python3
  # For the packages of tests/requirements.txt (tools/python_env.sh), without which some tests are skipped.
  { has_command python3 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1; } || want python3-venv
  # The headers that the Python package is compiled with; it is left out without them.
  { has_command python3 && python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; } || want python3-dev
  # Opens the pages of `hone profile --html`; tests/html is skipped without it.
  has_command chromium-headless-shell || has_command chromium || has_command chromium-browser || has_command google-chrome ||
    browser=" chromium-headless-shell fonts-dejavu-core"
fi
has_command pkg-config || $images pkg-config
# hone-server, which is left out without it.
has_library microhttpd.h -lmicrohttpd || $images libmicrohttpd-dev
has_library png.h -lpng || $images libpng-dev
has_library turbojpeg.h -lturbojpeg || $images libturbojpeg0-dev
if [ "$level" = ci ]; then
  has_command clang || need clang
  has_command clang-format || need clang-format
  has_command ccache || want ccache # tests/recipes and the build without AVX have most objects from the first build
fi

[ -n "$needed$wanted$browser" ] || exit 0
# What cannot be installed stops only when it is needed.
give_up() {
  echo "$1" >&2
  [ -z "$needed" ] || exit 1
  echo "going on without$wanted$browser"
  exit 0
}
echo "missing:$needed$wanted$browser"
has_command apt-get || give_up "no apt-get here: please install them (the names are Debian's) and try again"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
  has_command sudo || give_up "neither root nor sudo: please run  apt-get install$needed$wanted$browser"
  as_root=sudo
  [ -t 0 ] || as_root="sudo -n"
fi
install_packages() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" </dev/null
}
install_missing() {
  # shellcheck disable=SC2086
  install_packages "$@" || { $as_root apt-get update -q </dev/null && install_packages "$@"; }
}
# shellcheck disable=SC2086
[ -z "$needed$wanted" ] || install_missing $needed $wanted || give_up "could not install:$needed$wanted"
# shellcheck disable=SC2086
[ -z "$browser" ] || install_missing $browser || echo "could not install:$browser; going on without"
