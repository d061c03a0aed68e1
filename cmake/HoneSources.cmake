# SPDX-License-Identifier: Apache-2.0
# HoneSources.cmake - which files are compiled, and with which flags.
# Sets hone_runtime_sources, hone_compile_sources and hone_kernel_sources.
set(hone_src ${PROJECT_SOURCE_DIR}/src)

set(hone_is_x86_64 FALSE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(hone_is_x86_64 TRUE)
endif()

# Appends the C files of the named folders of src/ to a list.
function(hone_add_folders list_name)
  foreach(folder IN LISTS ARGN)
    file(GLOB files CONFIGURE_DEPENDS ${hone_src}/${folder}/*.c)
    list(APPEND ${list_name} ${files})
  endforeach()
  set(${list_name} ${${list_name}} PARENT_SCOPE)
endfunction()

# Operators: one file for each row of ops.inc, and the helpers that they share.
function(hone_add_operators list_name)
  set(rows ${hone_src}/ops/ops.inc)
  file(GLOB helpers CONFIGURE_DEPENDS ${hone_src}/ops/common_*.c ${hone_src}/ops/registry.c)
  file(GLOB rows_found CONFIGURE_DEPENDS ${rows})
  set(sources "")
  if(rows_found)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rows})
    file(STRINGS ${rows} sources REGEX "^HN_OP\\(")
    list(TRANSFORM sources REPLACE "^HN_OP\\(([a-z0-9_]+)\\).*" "${hone_src}/ops/\\1.c")
  endif()
  set(${list_name} ${${list_name}} ${sources} ${helpers} PARENT_SCOPE)
endfunction()

# Reads isa.inc: a file named *_SUFFIX.c is written for that row's instruction set. Kernels get the row's flags.
# A tactic's file may carry the suffix too; it is compiled for any CPU, and left out together with its kernel.
function(hone_apply_isa list_name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${hone_src}/device/isa.inc)
  file(STRINGS ${hone_src}/device/isa.inc rows REGEX "^HN_ISA\\(")
  set(sources ${${list_name}})
  foreach(row IN LISTS rows)
    if(NOT row MATCHES "^HN_ISA\\(([a-z0-9]+), *([A-Z0-9_]+), *\"([^\"]*)\"")
      message(FATAL_ERROR "src/device/isa.inc: cannot read the row: ${row}")
    endif()
    set(suffix ${CMAKE_MATCH_1})
    separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_3}")
    if(NOT flags)
      continue()
    endif()
    set(matching ${sources})
    list(FILTER matching INCLUDE REGEX "_${suffix}\\.c$")
    if(HONE_NO_AVX OR NOT hone_is_x86_64)
      list(FILTER sources EXCLUDE REGEX "_${suffix}\\.c$")
    else()
      list(FILTER matching INCLUDE REGEX "/src/kernels/")
      set_property(SOURCE ${matching} APPEND PROPERTY COMPILE_OPTIONS ${flags})
    endif()
  endforeach()
  set(${list_name} ${sources} PARENT_SCOPE)
endfunction()

hone_add_folders(hone_runtime_sources
  base tensor device plan run report backend backend/cpu backend/ref backend/null)
hone_add_operators(hone_runtime_sources)
file(GLOB files CONFIGURE_DEPENDS ${hone_src}/api/runtime_*.c)
list(APPEND hone_runtime_sources ${files})

hone_add_folders(hone_compile_sources ir import export pass tune lower calib search)
file(GLOB files CONFIGURE_DEPENDS ${hone_src}/api/compile_*.c)
list(APPEND hone_compile_sources ${files})

file(GLOB_RECURSE hone_kernel_sources CONFIGURE_DEPENDS ${hone_src}/kernels/cpu/*.c)

hone_apply_isa(hone_runtime_sources)
hone_apply_isa(hone_kernel_sources)

if(NOT hone_is_x86_64)
  target_compile_definitions(hone_flags INTERFACE HONE_NO_AVX)
endif()
