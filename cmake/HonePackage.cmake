# SPDX-License-Identifier: Apache-2.0
# HonePackage.cmake - Debian packages of a build: `cpack -G DEB` in its folder, or `make packages`. One package a
# component; what they depend on is found by dpkg-shlibdeps.
#
#   hone          the tool, its man pages, completions for bash, zsh and fish
#   libhone0      libhone.so.0 and libhone_runtime.so.0; the name follows the SONAME
#   libhone-dev   headers, static libraries, pkg-config, CMake package
#   libhone-ort   the execution provider for ONNX Runtime
#   hone-server   the server and its man page, where libmicrohttpd is
#   hone-triton   the backend for Triton Inference Server
#   python3-hone  the Python package over libhone0, where this build has it
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hone)
set(CPACK_PACKAGE_VENDOR "hone")
set(CPACK_PACKAGE_CONTACT "hone developers <hone@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL tool library development ort triton)
if(TARGET hone_server)
  list(APPEND CPACK_COMPONENTS_ALL server)
endif()
if(TARGET hone_python)
  list(APPEND CPACK_COMPONENTS_ALL python_system)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}) # libhone itself, which python3-hone links
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(hone_library_package libhone${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_TOOL_PACKAGE_NAME hone)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${hone_library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libhone-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${hone_library_package} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_ORT_PACKAGE_NAME libhone-ort)
set(CPACK_DEBIAN_ORT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME hone-server)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_TRITON_PACKAGE_NAME hone-triton)
set(CPACK_DEBIAN_TRITON_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PYTHON_SYSTEM_PACKAGE_NAME python3-hone)
set(CPACK_DEBIAN_PYTHON_SYSTEM_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_SYSTEM_PACKAGE_DEPENDS
  "${hone_library_package} (= ${PROJECT_VERSION}), python3 (>= 3.11), python3-numpy")

set(CPACK_COMPONENT_TOOL_DESCRIPTION "Command-line tool: build, run, profile and advise")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Shared libraries")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers, static libraries, pkg-config file and CMake package")
set(CPACK_COMPONENT_ORT_DESCRIPTION "Execution provider for ONNX Runtime, opened by its released packages")
set(CPACK_COMPONENT_SERVER_DESCRIPTION "Server of models by the Open Inference Protocol over HTTP")
set(CPACK_COMPONENT_TRITON_DESCRIPTION "Backend for Triton Inference Server")
set(CPACK_COMPONENT_PYTHON_SYSTEM_DESCRIPTION "Python package")

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/hone RENAME copyright COMPONENT tool)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${hone_library_package} RENAME copyright
  COMPONENT library)
include(CPack)
