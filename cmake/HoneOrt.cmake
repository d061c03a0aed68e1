# SPDX-License-Identifier: Apache-2.0
# HoneOrt.cmake - libhone_ort.so, an execution provider for ONNX Runtime: one file that holds all of hone, and shows two
# functions. It needs nothing of ONNX Runtime to be built.
file(GLOB hone_ort_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ort/*.c)
add_library(hone_ort MODULE ${hone_ort_sources})
target_link_libraries(hone_ort PRIVATE hone_static hone_flags hone_quick_flags)
target_include_directories(hone_ort PRIVATE ${PROJECT_SOURCE_DIR}/ort)
set_target_properties(hone_ort PROPERTIES OUTPUT_NAME hone_ort LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_options(hone_ort PRIVATE -Wl,--exclude-libs,ALL)
if(NOT HONE_SANITIZE) # a sanitizer's own symbols come from the program
  target_link_options(hone_ort PRIVATE -Wl,--no-undefined)
endif()
install(TARGETS hone_ort LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ort)
# `cmake --build . --target hone_ort_wheel`: the Python package with it, in the build's folder wheels/.
find_program(HONE_PYTHON3 python3)
mark_as_advanced(HONE_PYTHON3)
if(HONE_PYTHON3)
  add_custom_target(hone_ort_wheel
    COMMAND ${HONE_PYTHON3} ${PROJECT_SOURCE_DIR}/ort/python/make_wheel.py $<TARGET_FILE:hone_ort> ${PROJECT_BINARY_DIR}/wheels
    DEPENDS hone_ort VERBATIM)
endif()
