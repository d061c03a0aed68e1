# SPDX-License-Identifier: Apache-2.0
# HoneLibraries.cmake - libhone_runtime (loads and runs engines) and libhone (that and the compiler),
# each shared and static, from the same objects.

# A folder may still be empty; an object library may not.
function(hone_add_objects target)
  if(ARGN)
    add_library(${target} OBJECT ${ARGN})
  else()
    file(WRITE ${PROJECT_BINARY_DIR}/${target}_empty.c "typedef int hn_${target}_is_empty;\n")
    add_library(${target} OBJECT ${PROJECT_BINARY_DIR}/${target}_empty.c)
  endif()
  target_link_libraries(${target} PRIVATE hone_flags)
  target_compile_definitions(${target} PRIVATE HONE_BUILDING)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

hone_add_objects(hone_runtime_objects ${hone_runtime_sources})
hone_add_objects(hone_compile_objects ${hone_compile_sources})
# Reference values must not depend on the compiler's taste for fused multiply-add; kernels want it.
target_compile_options(hone_runtime_objects PRIVATE -ffp-contract=off $<$<CONFIG:Release>:${hone_spared_passes}>)
target_compile_options(hone_compile_objects PRIVATE -ffp-contract=off)
target_link_libraries(hone_compile_objects PRIVATE hone_quick_flags)
set(hone_outside_runs ${hone_runtime_sources}) # engines are read, reports written: no run waits for it
list(FILTER hone_outside_runs INCLUDE REGEX "/src/(report|plan|device)/")
set_property(SOURCE ${hone_outside_runs} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
target_include_directories(hone_runtime_objects PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(hone_compile_objects PRIVATE ${PROJECT_SOURCE_DIR}/src)

# To parse the header of the intrinsics takes as long as to compile a small kernel: once for each set of flags is enough.
# ccache would miss every file then; its builds, and the continuous build's rows but one, find files that forget it.
if(HONE_CCACHE)
  set(hone_precompile OFF)
else()
  set(hone_precompile ON)
endif()
option(HONE_PRECOMPILED "Precompile the intrinsics' header; off by default with ccache" ${hone_precompile})
mark_as_advanced(HONE_PRECOMPILED)
function(hone_precompile_intrinsics target suffix)
  if(HONE_PRECOMPILED AND hone_isa_${suffix}_flags AND TARGET hone_kernels_${suffix})
    if(NOT target STREQUAL "hone_kernels_${suffix}") # the same flags: what differs are macros that the header does not read
      target_precompile_headers(${target} REUSE_FROM hone_kernels_${suffix})
    else()
      target_precompile_headers(${target} PRIVATE <immintrin.h>)
    endif()
  endif()
endfunction()

# The kernels, a set of objects for each instruction set, and for each with activations held in another type.
set(hone_kernel_objects "")
function(hone_add_kernel_objects target suffix)
  hone_add_objects(${target} ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # HN_SIMD_AVX2 where the row's vectors are those of AVX2, and HN_SIMD_AVX_VNNI where it can more than that.
  set(vectors C)
  if(hone_isa_${suffix}_flags MATCHES "-mavx512f")
    set(vectors AVX512)
  elseif(hone_isa_${suffix}_flags MATCHES "-mavx2")
    set(vectors AVX2)
  endif()
  target_compile_definitions(${target} PRIVATE HN_SIMD_SUFFIX=_${suffix} HN_SIMD_${vectors})
  if(NOT vectors STREQUAL hone_isa_${suffix}_name)
    target_compile_definitions(${target} PRIVATE HN_SIMD_${hone_isa_${suffix}_name})
  endif()
  target_compile_options(${target} PRIVATE ${hone_isa_${suffix}_flags} -ffp-contract=fast -fno-math-errno
    -fno-trapping-math)
  # With a check at each access of an unrolled tile, an optimised build takes minutes for a file, and clang takes them at
  # any level: there the address sanitizer alone watches the kernels, and gcc's build both.
  if(NOT HONE_SANITIZE)
    # Of -O3 the kernels need full unrolling and loops that become vectors; the rest is code, compiler's time and no speed.
    # A plain C kernel beside one with vectors serves processors of before 2013 and the tests: it is right, not tuned.
    if(suffix STREQUAL c AND target MATCHES "_beside$")
      target_compile_options(${target} PRIVATE -O1 $<$<C_COMPILER_ID:GNU>:-ftree-vectorize -fvect-cost-model=dynamic>)
    else()
      target_compile_options(${target} PRIVATE -O2
        $<$<C_COMPILER_ID:GNU>:-ftree-vectorize -fvect-cost-model=dynamic -fpeel-loops> ${hone_spared_passes})
    endif()
  else() # registers by loops take a quarter of the compiler's time there
    target_compile_options(${target} PRIVATE $<$<C_COMPILER_ID:GNU>:-fira-region=one --param=max-combine-insns=2>)
  endif()
  list(LENGTH hone_kernels_${suffix} files)
  if(files GREATER 7)
    hone_precompile_intrinsics(${target} ${suffix})
  endif()
  set(hone_kernel_objects ${hone_kernel_objects} ${target} PARENT_SCOPE)
endfunction()
# Plain C kernels that have rows of vectors beside them become objects of their own.
function(hone_add_kernel_sets target suffix)
  set(alone ${ARGN})
  if(suffix STREQUAL c AND hone_kernels_beside)
    list(REMOVE_ITEM alone ${hone_kernels_beside})
    set(beside ${ARGN})
    list(REMOVE_ITEM beside ${alone} "")
    hone_add_kernel_objects(${target}_beside ${suffix} ${beside})
  endif()
  hone_add_kernel_objects(${target} ${suffix} ${alone})
  set(hone_kernel_objects ${hone_kernel_objects} PARENT_SCOPE)
endfunction()
foreach(suffix IN LISTS hone_isa_rows)
  hone_add_kernel_sets(hone_kernels_${suffix} ${suffix} ${hone_kernels_${suffix}})
  foreach(type IN LISTS hone_held_types)
    if(hone_kernels_${suffix}_in_${type})
      hone_add_kernel_sets(hone_kernels_${suffix}_in_${type} ${suffix} ${hone_kernels_${suffix}_in_${type}})
      string(TOUPPER ${type} name)
      foreach(target hone_kernels_${suffix}_in_${type} hone_kernels_${suffix}_in_${type}_beside)
        if(TARGET ${target})
          target_compile_definitions(${target} PRIVATE HN_HELD_${name})
        endif()
      endforeach()
    endif()
  endforeach()
endforeach()
file(GLOB_RECURSE hone_kernel_files CONFIGURE_DEPENDS ${hone_src}/kernels/cpu/*.c)
if(HONE_SANITIZE AND CMAKE_C_COMPILER_ID MATCHES "Clang")
  set(hone_off undefined)
  if(HONE_FUZZ) # the fuzzer looks at what reads untrusted bytes
    set(hone_off all)
  endif()
  # A source's options come after its target's, which switch the sanitizers on.
  set_property(SOURCE ${hone_kernel_files} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=${hone_off})
endif()
# A product of complex numbers with one half of each part fused is not symmetric: what should cancel leaves noise.
list(FILTER hone_kernel_files INCLUDE REGEX "/fft_[^/]*\\.c$")
set_property(SOURCE ${hone_kernel_files} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
set_property(SOURCE ${hone_kernel_files} PROPERTY SKIP_PRECOMPILE_HEADERS ON) # their flags are not the others'

# Makes NAME_shared and NAME_static, both libNAME on disk, from the objects named after it.
function(hone_add_library name)
  set(objects ${ARGN})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name}_shared SHARED ${objects})
  add_library(${name}_static STATIC ${objects})
  set_target_properties(${name}_shared PROPERTIES
    OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINKER_LANGUAGE C EXPORT_NAME ${name})
  set_target_properties(${name}_static PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C)
  foreach(kind shared static)
    target_include_directories(${name}_${kind} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name}_${kind} PRIVATE $<BUILD_INTERFACE:hone_flags> Threads::Threads ${CMAKE_DL_LIBS} m)
    add_library(hone::${name}_${kind} ALIAS ${name}_${kind})
  endforeach()
  add_library(hone::${name} ALIAS ${name}_shared)
  if(NOT HONE_SANITIZE) # a sanitizer's own symbols come from the program
    target_link_options(${name}_shared PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

hone_add_library(hone_runtime hone_runtime_objects ${hone_kernel_objects})
hone_add_library(hone hone_runtime_objects ${hone_kernel_objects} hone_compile_objects)
