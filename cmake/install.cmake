# What `cmake --install` lays down beside the tool and the manual (manual.cmake): both libraries, the headers, the
# CMake package and the pkg-config files. All of it may be moved, or installed with another --prefix, but for what
# CMAKE_INSTALL_LIBDIR and CMAKE_INSTALL_INCLUDEDIR give as absolute.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/groupops)

install(TARGETS groupops groupops_static EXPORT groupops
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/groupops DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT dev FILES_MATCHING PATTERN *.h)
install(EXPORT groupops NAMESPACE groupops:: DESTINATION ${package_dir} FILE groupops-targets.cmake
        COMPONENT dev)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/groupops-config.cmake.in
                              ${PROJECT_BINARY_DIR}/groupops-config.cmake
                              INSTALL_DESTINATION ${package_dir}
                              NO_SET_AND_CHECK_MACRO)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/groupops-config-version.cmake
                                 COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/groupops-config.cmake
              ${PROJECT_BINARY_DIR}/groupops-config-version.cmake
        DESTINATION ${package_dir} COMPONENT dev)

# A static consumer needs what the shared library names itself. A pinned BLAS is given with its
# folder, for the linker and for the run.
set(private_libraries "")
foreach(library IN LISTS groupops_runtime)
  if(IS_ABSOLUTE ${library})
    cmake_path(GET library PARENT_PATH folder)
    cmake_path(GET library STEM name)
    string(REGEX REPLACE "^lib" "" name ${name})
    if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
      string(APPEND private_libraries " -L${folder} -Wl,-rpath,${folder}")
    endif()
    string(APPEND private_libraries " -l${name}")
  else()
    string(APPEND private_libraries " -l${library}")
  endif()
endforeach()
string(STRIP "${private_libraries}" private_libraries)

# The prefix is found from the file's own place, or where that is absolute, set when it is installed.
# The linker takes a shared library before a static one that lies beside it, so that the latter has a
# package of its own.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(pc_prefix "@CMAKE_INSTALL_PREFIX@")
  set(pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH pc_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
else()
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
foreach(name groupops groupops-static)
  if(name STREQUAL "groupops")
    set(pc_libraries "-lgroupops\nLibs.private: ${private_libraries}")
  else()
    set(pc_libraries "-l:libgroupops.a ${private_libraries}")
  endif()
  set(template ${PROJECT_BINARY_DIR}/${name}.pc.in)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/groupops.pc.in ${template} @ONLY)
  install(CODE "configure_file(\"${template}\" \"${PROJECT_BINARY_DIR}/${name}.pc\" @ONLY)"
          COMPONENT dev)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT dev)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
              ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
