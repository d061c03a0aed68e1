# SPDX-License-Identifier: Apache-2.0
# HoneFlags.cmake - the compiler flags of every C file of the project, as the target hone_flags.
find_package(Threads REQUIRED)
find_path(HONE_XXHASH_INCLUDE xxhash.h)
mark_as_advanced(HONE_XXHASH_INCLUDE)
if(NOT HONE_XXHASH_INCLUDE)
  message(FATAL_ERROR "xxhash.h not found: install libxxhash-dev (tools/install_deps.sh does)")
endif()

add_library(hone_flags INTERFACE)
target_include_directories(hone_flags INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_include_directories(hone_flags SYSTEM INTERFACE ${HONE_XXHASH_INCLUDE})
target_compile_definitions(hone_flags INTERFACE _GNU_SOURCE HONE_VERSION_STRING="${PROJECT_VERSION}")
target_compile_options(hone_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-std=c17 -pipe> -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion -fvisibility=hidden
  # Operator rows leave out what is zero, in positional form too.
  $<$<C_COMPILER_ID:Clang>:-Wno-missing-field-initializers>
  # gcc cannot see that a failing status is never OK; clang's analysis and the sanitizers watch instead.
  $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
if(HONE_WERROR)
  target_compile_options(hone_flags INTERFACE -Werror)
endif()
if(HONE_SANITIZE)
  target_compile_options(hone_flags INTERFACE
    -fsanitize=${HONE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # its own instrumentation makes gcc see uninitialised reads that are none
    target_compile_options(hone_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(hone_flags INTERFACE -fsanitize=${HONE_SANITIZE})
  # gcc's texts of what is undefined are two thirds of a program of 130 MB, relocated at each start: a trap has none, and
  # the address sanitizer (handle_sigill, tests/CMakeLists.txt) shows the line that it stands in.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND HONE_SANITIZE MATCHES "address.*undefined")
    target_compile_options(hone_flags INTERFACE -fsanitize-undefined-trap-on-error)
  endif()
endif()
if(HONE_FUZZ)
  target_compile_options(hone_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# What runs once, before or after a network does (passes, the tuner's bookkeeping, commands, tests): a quarter less of the
# compiler's time for code that nobody waits for.
add_library(hone_quick_flags INTERFACE)
target_compile_options(hone_quick_flags INTERFACE $<$<CONFIG:Release>:-O1>)
# Passes over whole functions that find next to nothing, neither in unrolled tiles of intrinsics nor in code that calls, and
# instructions combined in threes: with pairs alone tiles in f32 are the same code, others one instruction of a hundred longer.
set(hone_spared_passes $<$<C_COMPILER_ID:GNU>:--param=max-combine-insns=2 -fno-code-hoisting -fno-gcse -fno-ipa-cp -fno-ipa-icf -fno-ipa-sra
  -fno-predictive-commoning -fno-tree-pre -fno-tree-slp-vectorize -fno-tree-tail-merge -fno-tree-vrp>)
