# SPDX-License-Identifier: Apache-2.0
# HoneInstall.cmake - headers, libraries, the tool, and how other builds find them: find_package(hone) and pkg-config.
include(CMakePackageConfigHelpers)
set(hone_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/hone)

# Components are what HonePackage.cmake makes packages of.
install(TARGETS hone_shared hone_static hone_runtime_shared hone_runtime_static EXPORT hone-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET hone)
  install(TARGETS hone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
endif()
# What `make install` builds: all that is installed, and nothing else.
add_custom_target(hone_installed DEPENDS hone_shared hone_static hone_runtime_shared hone_runtime_static)
foreach(optional hone hone_ort hone_server hone_server_pages hone_triton hone_backend_cuda)
  if(TARGET ${optional})
    add_dependencies(hone_installed ${optional})
  endif()
endforeach()
if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/include/hone)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
endif()

install(EXPORT hone-targets NAMESPACE hone:: DESTINATION ${hone_package_folder} COMPONENT development)
configure_package_config_file(cmake/hone-config.cmake.in ${PROJECT_BINARY_DIR}/hone-config.cmake
  INSTALL_DESTINATION ${hone_package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hone-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hone-config.cmake ${PROJECT_BINARY_DIR}/hone-config-version.cmake
  DESTINATION ${hone_package_folder} COMPONENT development)

# Writes and installs FILE.pc for -lLIBRARY.
function(hone_install_pkgconfig file library description)
  set(pc_name ${file})
  set(pc_library ${library})
  set(pc_description ${description})
  file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # from the file's own folder: an install can be moved
  configure_file(${PROJECT_SOURCE_DIR}/cmake/hone.pc.in ${PROJECT_BINARY_DIR}/${file}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${file}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()
hone_install_pkgconfig(hone hone "Optimises, runs and profiles trained neural networks")
hone_install_pkgconfig(hone-runtime hone_runtime "Loads and runs engines that hone has built")

# Man pages and completions are written by the tool itself, from the rows of its options; a build for another machine
# cannot run it and goes without them.
if(TARGET hone AND NOT CMAKE_CROSSCOMPILING AND NOT HONE_SANITIZE AND NOT HONE_FUZZ)
  set(hone_pages ${PROJECT_BINARY_DIR}/pages)
  add_custom_command(OUTPUT ${hone_pages}/done
    COMMAND sh ${PROJECT_SOURCE_DIR}/tools/write_pages.sh $<TARGET_FILE:hone> ${hone_pages}
    COMMAND ${CMAKE_COMMAND} -E touch ${hone_pages}/done
    DEPENDS hone ${PROJECT_SOURCE_DIR}/tools/write_pages.sh VERBATIM)
  add_custom_target(hone_pages ALL DEPENDS ${hone_pages}/done)
  add_dependencies(hone_installed hone_pages)
  install(DIRECTORY ${hone_pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tool)
  install(FILES ${hone_pages}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME hone COMPONENT tool)
  install(FILES ${hone_pages}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _hone COMPONENT tool)
  install(FILES ${hone_pages}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME hone.fish
    COMPONENT tool)
endif()
