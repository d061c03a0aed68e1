# SPDX-License-Identifier: Apache-2.0
# HoneTriton.cmake - libtriton_hone.so, a backend of Triton Inference Server: one file that holds all of hone. It needs
# nothing of Triton to be built; what it calls of it is found in the server that opens it.
file(GLOB hone_triton_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/triton/*.c)
add_library(hone_triton MODULE ${hone_triton_sources}
  ${PROJECT_SOURCE_DIR}/server/engine_file.c ${PROJECT_SOURCE_DIR}/server/ports.c ${PROJECT_SOURCE_DIR}/server/types.c)
target_link_libraries(hone_triton PRIVATE hone_static hone_flags hone_quick_flags)
target_include_directories(hone_triton PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/triton ${PROJECT_SOURCE_DIR}/src)
set_target_properties(hone_triton PROPERTIES OUTPUT_NAME triton_hone LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_options(hone_triton PRIVATE -Wl,--exclude-libs,ALL)
install(TARGETS hone_triton LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/triton/backends/hone COMPONENT triton)
