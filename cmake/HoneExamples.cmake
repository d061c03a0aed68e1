# SPDX-License-Identifier: Apache-2.0
# HoneExamples.cmake - each examples/NAME.c is a program linked as a user's would be: public headers, shared library.
if(NOT HONE_EXAMPLES)
  return()
endif()
file(GLOB hone_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
foreach(source IN LISTS hone_examples)
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE hone_shared hone_flags Threads::Threads ${CMAKE_DL_LIBS} m)
  set_target_properties(example_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endforeach()

# Plug-ins: shared objects that see the public headers and link none of our libraries.
file(GLOB hone_plugins CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/plugins/*.c)
foreach(source IN LISTS hone_plugins)
  get_filename_component(name ${source} NAME_WE)
  add_library(plugin_${name} MODULE ${source})
  target_link_libraries(plugin_${name} PRIVATE hone_flags ${CMAKE_DL_LIBS} m)
  set_target_properties(plugin_${name} PROPERTIES
    OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
endforeach()
