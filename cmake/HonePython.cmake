# SPDX-License-Identifier: Apache-2.0
# HonePython.cmake - whether the Python package is built: a wheel asks for it, tests take it where they can.
if(HONE_PYTHON STREQUAL "AUTO" AND HONE_TESTS AND NOT HONE_SANITIZE AND NOT HONE_FUZZ)
  find_package(Python 3.11 QUIET COMPONENTS Interpreter Development.Module)
  if(NOT Python_FOUND)
    message(STATUS "Python >= 3.11 with headers not found: the Python package and its tests are left out")
  endif()
  set(hone_python ${Python_FOUND})
elseif(HONE_PYTHON STREQUAL "AUTO")
  set(hone_python OFF) # a sanitizer's library would have to be in Python itself
else()
  set(hone_python ${HONE_PYTHON})
endif()
if(hone_python)
  add_subdirectory(python)
endif()
