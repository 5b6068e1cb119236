# Finds the CBLAS that GROUPOPS_BLAS names, and sets
#   groupops_blas_libraries     full path of its shared library
#   groupops_blas_include_dirs  a folder with its <cblas.h> (and <blis.h>)
#   groupops_blas_definitions   GOPS_BLAS_OPENBLAS=1, GOPS_BLAS_BLIS=1 or GOPS_BLAS_REFERENCE=1
#   groupops_blas_pinned        the folder to find the library in at run time; empty when that is
#                               left to the system
#
# "openblas" and "blis" are whatever the system calls by that name: on Debian an alternative that
# the administrator switches among flavours. All flavours share one soname, so a program linked
# with openblas-openmp would be run with the alternative; a named flavour is therefore pinned by a
# RUNPATH to the folder it was found in, in the build tree and in the installed library. A program that
# links the BLAS itself, without such a RUNPATH, is run with the alternative all the same, and so is
# groupops in it; gops_blas() tells.

set(choices
    openblas openblas-openmp openblas-pthread openblas-serial
    blis blis-openmp blis-pthread blis-serial
    reference)
set(GROUPOPS_BLAS openblas CACHE STRING "The BLAS: ${choices}")
set_property(CACHE GROUPOPS_BLAS PROPERTY STRINGS ${choices})

if(NOT GROUPOPS_BLAS IN_LIST choices)
  list(JOIN choices ", " choices)
  message(FATAL_ERROR "GROUPOPS_BLAS is \"${GROUPOPS_BLAS}\"; it must be one of: ${choices}")
endif()

if(GROUPOPS_BLAS STREQUAL "reference")
  set(kind reference)
  set(folder blas)
  set(library_name blas)
  set(headers cblas.h=cblas-netlib.h,cblas.h)
  set(package libblas-dev)
else()
  string(REGEX MATCH "^[a-z]+" kind ${GROUPOPS_BLAS})
  set(folder ${GROUPOPS_BLAS})
  set(library_name ${kind})
  set(headers cblas.h=cblas.h)
  if(kind STREQUAL "blis") # its threads are asked for per call, by functions of its own
    list(APPEND headers blis.h=blis.h)
  endif()
  set(package lib${GROUPOPS_BLAS}-dev)
endif()

# NO_CACHE: another GROUPOPS_BLAS in the same build folder must be looked for afresh.
find_library(blas_library NAMES ${library_name} PATH_SUFFIXES ${folder} NO_CACHE)
set(groupops_blas_pinned "")
if(blas_library AND NOT GROUPOPS_BLAS STREQUAL kind)
  cmake_path(GET blas_library PARENT_PATH parent)
  cmake_path(GET parent FILENAME found_folder)
  if(found_folder STREQUAL folder)
    set(groupops_blas_pinned ${parent})
  elseif(NOT kind STREQUAL "reference") # elsewhere than on Debian libblas is the reference itself
    set(blas_library "")
  endif()
endif()
if(NOT blas_library)
  message(FATAL_ERROR "GROUPOPS_BLAS is ${GROUPOPS_BLAS}, but its library was not found "
                      "(Debian package ${package})")
endif()

# The headers lie in a folder named after the flavour; for "openblas" and "blis" that is the
# flavour which the alternative stands for now. A folder of our own refers to them by full path, so
# that no other <cblas.h> on the include path can take their place.
file(REAL_PATH ${blas_library} blas_file)
cmake_path(GET blas_file PARENT_PATH parent)
cmake_path(GET parent FILENAME flavour)
set(groupops_blas_include_dirs ${PROJECT_BINARY_DIR}/blas-${GROUPOPS_BLAS})
foreach(header IN LISTS headers)
  string(REGEX REPLACE "=.*" "" name ${header})
  string(REGEX REPLACE ".*=" "" candidates ${header})
  string(REPLACE "," ";" candidates ${candidates})
  find_file(found NAMES ${candidates} PATH_SUFFIXES ${flavour} ${kind} NO_CACHE)
  if(NOT found)
    message(FATAL_ERROR "GROUPOPS_BLAS is ${GROUPOPS_BLAS}, but its ${name} was not found "
                        "(Debian package ${package})")
  endif()
  file(CONFIGURE OUTPUT ${groupops_blas_include_dirs}/${name} CONTENT "#include \"@found@\"\n" @ONLY)
  unset(found)
endforeach()

set(groupops_blas_libraries ${blas_library})
string(TOUPPER GOPS_BLAS_${kind}=1 groupops_blas_definitions)

include(CheckSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES ${groupops_blas_libraries} m)
set(CMAKE_REQUIRED_INCLUDES ${groupops_blas_include_dirs})
string(MAKE_C_IDENTIFIER groupops_links_${blas_file} links)
check_source_compiles(C "#include <cblas.h>
int main(void) { cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1);
return 0; }" ${links})
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_INCLUDES)
if(NOT ${links})
  message(FATAL_ERROR "${blas_file} offers no cblas_sgemm")
endif()
message(STATUS "BLAS: ${GROUPOPS_BLAS}, ${blas_file}")
