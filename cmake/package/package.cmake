# Debian packages, one for each component of the install rules, by the target `package` (CPack).
# `./cmake/dev package` makes them in the preset `package`, which has Debian's folders and the OpenBLAS
# that Debian's alternatives choose. finish_*.cmake.in do what Debian's policy asks for beyond that.
#
# The maintainer is the one of DEBFULLNAME and DEBEMAIL, as for Debian's own tools. With
# SOURCE_DATE_EPOCH set the packages depend on the sources and the tools alone.

set(maintainer "groupops authors <groupops@example.org>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(debian_version ${PROJECT_VERSION}-1)
get_target_property(groupops_soversion groupops SOVERSION)
set(library_package libgroupops${groupops_soversion})
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(made ${PROJECT_BINARY_DIR}/debian)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME groupops)
# CPack's default, which is no part of the packages' descriptions.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "groupops built using CMake")
set(CPACK_PACKAGE_CONTACT ${maintainer})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${made}/finish_files.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${made}/finish_control.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_VERSION ${debian_version})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src ${PROJECT_BINARY_DIR}/src/engines/mpi)
set(CPACK_COMPONENTS_ALL "")

# groupops_package(COMPONENT NAME SECTION SUMMARY TEXT ...): what the component installs becomes the
# package NAME. ALL says that it is for every architecture; CONTROL are control files.
function(groupops_package component name section summary text)
  cmake_parse_arguments(PARSE_ARGV 5 with "ALL" "" "DEPENDS;RECOMMENDS;SUGGESTS;CONTROL")
  string(TOUPPER CPACK_DEBIAN_${component} variable)
  string(REGEX REPLACE "\n +" "\n" text "${text}")
  set(${variable}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(${variable}_PACKAGE_SOURCE groupops PARENT_SCOPE)
  set(${variable}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(${variable}_PACKAGE_PRIORITY optional PARENT_SCOPE)
  set(${variable}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  set(${variable}_PACKAGE_CONTROL_EXTRA "${with_CONTROL}" PARENT_SCOPE)
  if(with_ALL)
    set(${variable}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
    set(${variable}_PACKAGE_SHLIBDEPS OFF PARENT_SCOPE)
  endif()
  foreach(field DEPENDS RECOMMENDS SUGGESTS)
    list(JOIN with_${field} ", " packages)
    set(${variable}_PACKAGE_${field} "${packages}" PARENT_SCOPE)
  endforeach()
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)

  # No part of a plain `cmake --install`.
  set(documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name})
  install(FILES ${made}/copyright ${made}/changelog.Debian DESTINATION ${documents}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${documents} RENAME changelog
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  file(GLOB overrides ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${component}.lintian-overrides)
  set(text "")
  foreach(file ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/lintian-overrides.in ${overrides})
    file(READ ${file} one)
    string(APPEND text "${one}")
  endforeach()
  file(CONFIGURE OUTPUT ${made}/${component}.lintian-overrides CONTENT "${text}" @ONLY)
  install(FILES ${made}/${component}.lintian-overrides RENAME ${name}
          DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()

set(about "groupops computes grouped convolution, grouped transposed convolution and
group normalization as the OpenVINO operation set defines them, by im2col and
a BLAS or by kernels of its own where those are faster.

")

groupops_package(library ${library_package} libs
  "Grouped convolution and group normalization, shared library"
  "${about}This package has the shared library, for programs that were built with it."
  CONTROL ${made}/shlibs ${made}/symbols ${made}/triggers)

# The static library names the BLAS that the package was built with.
set(blas_package lib${GROUPOPS_BLAS}-dev)
if(GROUPOPS_BLAS STREQUAL "reference")
  set(blas_package libblas-dev)
endif()
groupops_package(dev libgroupops-dev libdevel
  "Grouped convolution and group normalization, for development"
  "${about}This package has the headers, the static library, and what CMake and pkg-config
   need to build programs with groupops."
  DEPENDS "${library_package} (= ${debian_version})" ${blas_package} SUGGESTS groupops-doc)
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libgroupops-dev
        COMPONENT dev EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/tests/examples/readme_example.c
              ${PROJECT_SOURCE_DIR}/tests/examples/engine_loop.c
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libgroupops-dev/examples
        COMPONENT dev EXCLUDE_FROM_ALL)

if(GROUPOPS_TOOL)
  groupops_package(tool groupops-tools math
    "Grouped convolution and group normalization, command"
    "${about}This package has the command groupops, which runs these operations on NumPy's
     files and on OpenVINO's models, shows how they are planned, and times them.")
endif()

if(GROUPOPS_ORT)
  groupops_package(onnxruntime libgroupops-onnxruntime libs
    "Grouped convolution and group normalization for ONNX Runtime"
    "${about}This package has the plugin execution provider, which ONNX Runtime 1.23
     or later loads from the path of libgroupops_ort.so.")
endif()

if(TARGET groupops_mpi)
  groupops_package(mpi libgroupops-mpi libs
    "Grouped convolution and group normalization over MPI"
    "${about}This package has a library that spreads these operations over the ranks of an
     MPI communicator, with its header and what CMake needs, and the command
     groupops-mpi."
    RECOMMENDS libgroupops-dev libopenmpi-dev CONTROL ${made}/mpi/shlibs ${made}/triggers)
  file(CONFIGURE OUTPUT ${made}/mpi/shlibs CONTENT
       "libgroupops_mpi ${groupops_soversion} libgroupops-mpi (= ${debian_version})\n" @ONLY)
endif()

# Debian's helpers for Python make the compiled files when the package is configured, and take them away.
configure_file(${CMAKE_CURRENT_LIST_DIR}/python.postinst ${made}/postinst COPYONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/python.prerm ${made}/prerm COPYONLY)
groupops_package(pytorch python3-groupops-torch python
  "Grouped convolution and group normalization for PyTorch"
  "${about}This package has the Python module groupops_torch. While its context manager is
   open, PyTorch's convolutions and group normalizations run in groupops."
  ALL DEPENDS "${library_package} (>= ${PROJECT_VERSION})" python3:any python3-torch
  SUGGESTS python3-torchvision CONTROL ${made}/postinst ${made}/prerm)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/engines/pytorch/groupops_torch
        DESTINATION lib/python3/dist-packages COMPONENT pytorch EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN *.py)

groupops_package(doc groupops-doc doc
  "Grouped convolution and group normalization, manual"
  "${about}This package has the manual of the headers, as manual pages and as HTML."
  ALL)
# What `./cmake/dev docs` made, where it did.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/build/docs/html OPTIONAL
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/groupops-doc COMPONENT doc EXCLUDE_FROM_ALL)

file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
string(STRIP "${license}" license)
string(REGEX REPLACE "^.*authors\n\n" "" license "${license}")
string(REPLACE "\n\n" "\n.\n" license "${license}")
string(REPLACE "\n" "\n " license "${license}")
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/groupops.map nodes REGEX "^GROUPOPS_")
set(symbols "libgroupops.so.${groupops_soversion} ${library_package} #MINVER#\n")
foreach(node IN LISTS nodes) # a node is named after the version that its names are there from
  string(REGEX REPLACE "^(GROUPOPS_([0-9.]+)).*" " (symver)\\1 \\2\n" node "${node}")
  string(APPEND symbols "${node}")
endforeach()
file(CONFIGURE OUTPUT ${made}/symbols.in CONTENT "${symbols}" @ONLY)
file(CONFIGURE OUTPUT ${made}/shlibs @ONLY
     CONTENT "libgroupops ${groupops_soversion} ${library_package} (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT ${made}/triggers CONTENT "activate-noawait ldconfig\n")
string(TIMESTAMP year %Y UTC)
foreach(name changelog.Debian copyright finish_files.cmake finish_control.cmake)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.in ${made}/${name} @ONLY)
endforeach()
include(CPack)
