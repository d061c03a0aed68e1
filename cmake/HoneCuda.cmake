# SPDX-License-Identifier: Apache-2.0
# HoneCuda.cmake - the CUDA backend: a module of its own that links none of our libraries and no CUDA library.
# Each kernels/cuda/**/NAME.cu becomes a fat binary inside the module, between the symbols
# hn_cuda_NAME_begin and hn_cuda_NAME_end, ready for the driver's loader.
file(GLOB_RECURSE hone_cuda_sources CONFIGURE_DEPENDS ${hone_src}/backend/cuda/*.c)
file(GLOB_RECURSE hone_cuda_kernels CONFIGURE_DEPENDS ${hone_src}/kernels/cuda/*.cu)
if(HONE_CUDA STREQUAL "OFF" OR NOT (hone_cuda_sources OR hone_cuda_kernels))
  return()
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(HONE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HONE_CUDA is ON, but nvcc was not found")
  endif()
  message(STATUS "nvcc not found: no CUDA backend")
  return()
endif()

set(hone_cuda_architectures
  -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_90,code=compute_90)
set(hone_cuda_embedded "")
foreach(source IN LISTS hone_cuda_kernels)
  get_filename_component(file ${source} NAME_WE)
  set(architectures ${hone_cuda_architectures})
  file(STRINGS ${source} own REGEX "^/\\* sm: 90a \\*/$") # what 9.0 alone has; elsewhere its kernels are empty
  if(own)
    list(TRANSFORM architectures REPLACE "=compute_90,code=sm_90$" "=compute_90a,code=sm_90a")
  endif()
  file(STRINGS ${source} held REGEX "^/\\* held: [a-z0-9 ]+ \\*/$") # NAME_held.cu is compiled as NAME_f16, ...
  string(REGEX REPLACE "^/\\* held: | \\*/$" "" held "${held}")
  string(REPLACE " " ";" held "${held}")
  if(NOT held)
    set(held "-")
  endif()
  foreach(type IN LISTS held)
    string(REGEX REPLACE "held$" "${type}" name ${file})
    set(binary ${PROJECT_BINARY_DIR}/cuda/${name}.fatbin)
    if(HONE_CUDA_FATBINS AND EXISTS ${HONE_CUDA_FATBINS}/${name}.fatbin)
      set(binary ${HONE_CUDA_FATBINS}/${name}.fatbin)
    else()
      set(definition $<$<NOT:$<STREQUAL:${type},->>:-DHN_HELD=${type}>)
      add_custom_command(OUTPUT ${binary}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/cuda
        COMMAND ${CMAKE_CUDA_COMPILER} -fatbin -O3 -std=c++17 -lineinfo -Xfatbin=-compress-all ${architectures}
                ${definition} -I${hone_src} -MD -MF ${binary}.d -MT ${binary} -o ${binary} ${source}
        DEPENDS ${source} DEPFILE ${binary}.d VERBATIM COMMAND_EXPAND_LISTS COMMENT "nvcc ${name}")
    endif()
    set(symbol hn_cuda_${name})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/embed.c.in ${PROJECT_BINARY_DIR}/cuda/${name}_embedded.c @ONLY)
    set_source_files_properties(${PROJECT_BINARY_DIR}/cuda/${name}_embedded.c PROPERTIES OBJECT_DEPENDS ${binary})
    list(APPEND hone_cuda_embedded ${PROJECT_BINARY_DIR}/cuda/${name}_embedded.c)
  endforeach()
endforeach()

# Texts of kernels that NVRTC compiles for one shape: hn_cuda_NAME_begin (inverted_residual_cuh), ending with a zero.
foreach(text lay_out.h pieces.cuh inverted_residual.cuh conv_pool.h conv_pool.cuh)
  set(source ${hone_src}/kernels/cuda/region/${text})
  string(REPLACE "." "_" name ${text})
  set(binary ${source})
  set(symbol hn_cuda_${name})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embed.c.in ${PROJECT_BINARY_DIR}/cuda/${name}_embedded.c @ONLY)
  set_source_files_properties(${PROJECT_BINARY_DIR}/cuda/${name}_embedded.c PROPERTIES OBJECT_DEPENDS ${source})
  list(APPEND hone_cuda_embedded ${PROJECT_BINARY_DIR}/cuda/${name}_embedded.c)
endforeach()

find_path(HONE_CUDA_INCLUDE cublasLt.h HINTS ENV CUDA_PATH PATHS /usr/local/cuda/include
  PATH_SUFFIXES include targets/x86_64-linux/include)
mark_as_advanced(HONE_CUDA_INCLUDE)
if(NOT HONE_CUDA_INCLUDE OR NOT EXISTS ${HONE_CUDA_INCLUDE}/cuda.h OR NOT EXISTS ${HONE_CUDA_INCLUDE}/nvrtc.h)
  if(HONE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HONE_CUDA is ON, but cuda.h, nvrtc.h or cublasLt.h was not found")
  endif()
  message(STATUS "cuda.h, nvrtc.h or cublasLt.h not found: no CUDA backend")
  return()
endif()

add_library(hone_backend_cuda MODULE ${hone_cuda_sources} ${hone_cuda_embedded})
target_link_libraries(hone_backend_cuda PRIVATE hone_flags Threads::Threads ${CMAKE_DL_LIBS} m)
target_compile_definitions(hone_backend_cuda PRIVATE HONE_BUILDING)
target_include_directories(hone_backend_cuda PRIVATE ${hone_src})
target_include_directories(hone_backend_cuda SYSTEM PRIVATE ${HONE_CUDA_INCLUDE})
set_target_properties(hone_backend_cuda PROPERTIES PREFIX "lib" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
install(TARGETS hone_backend_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/hone)
