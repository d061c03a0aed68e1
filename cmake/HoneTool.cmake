# SPDX-License-Identifier: Apache-2.0
# HoneTool.cmake - the command `hone`: static, so that the one file can be moved; images are optional.
file(GLOB hone_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
if(NOT hone_cli_sources)
  message(STATUS "cli/ is empty: no tool")
  return()
endif()

# Standard networks, over the public headers alone: the Python package has them, too.
file(GLOB hone_zoo_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/zoo/*.c)
add_library(hone_zoo OBJECT ${hone_zoo_sources})
target_link_libraries(hone_zoo PRIVATE hone_flags hone_quick_flags)
target_include_directories(hone_zoo PRIVATE ${PROJECT_SOURCE_DIR}/cli ${PROJECT_SOURCE_DIR})
set_target_properties(hone_zoo PROPERTIES POSITION_INDEPENDENT_CODE ON)

# What an engine's ports are for servers is in server/.
add_executable(hone ${hone_cli_sources} ${PROJECT_SOURCE_DIR}/server/ports.c ${PROJECT_SOURCE_DIR}/server/types.c
  $<TARGET_OBJECTS:hone_zoo>)
target_link_libraries(hone PRIVATE hone_static hone_flags hone_quick_flags)
target_include_directories(hone PRIVATE ${PROJECT_SOURCE_DIR}/cli ${PROJECT_SOURCE_DIR})
set_target_properties(hone PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

find_package(PkgConfig)
# Links an image library into the tool when pkg-config knows it, and tells the sources so.
function(hone_link_optional package macro)
  if(PkgConfig_FOUND)
    pkg_check_modules(${macro} QUIET IMPORTED_TARGET ${package})
  endif()
  if(${macro}_FOUND)
    target_link_libraries(hone PRIVATE PkgConfig::${macro})
    target_compile_definitions(hone PRIVATE ${macro})
  else()
    message(STATUS "${package} not found: the tool will not read its images")
  endif()
endfunction()
hone_link_optional(libpng HONE_HAVE_PNG)
hone_link_optional(libturbojpeg HONE_HAVE_TURBOJPEG)
