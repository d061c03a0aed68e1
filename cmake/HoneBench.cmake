# SPDX-License-Identifier: Apache-2.0
# HoneBench.cmake - bench/roofs.c, loops of its own that measured roofs are held against. Built when it is asked for:
# cmake --build build/release --target bench_roofs
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_executable(bench_roofs EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/roofs.c)
  target_link_libraries(bench_roofs PRIVATE hone_flags Threads::Threads)
  set_target_properties(bench_roofs PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
