# Compiles SOURCE with what pkg-config says of the package in PREFIX, shared and static, and runs it.
# In PREFIX-static, where there is one, lies no shared library, and --static means the other one.
# LIBDIR is in PREFIX or absolute.
file(REMOVE_RECURSE ${BUILD})
file(MAKE_DIRECTORY ${BUILD})

# needs(program): whether it would be run with the shared library.
function(needs program result)
  execute_process(COMMAND ${READELF} -d ${BUILD}/${program} OUTPUT_VARIABLE dynamic
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "NEEDED[^\n]*libgroupops" found "${dynamic}")
  if(found)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

function(build_and_run program prefix expected)
  cmake_path(ABSOLUTE_PATH LIBDIR BASE_DIRECTORY ${prefix} OUTPUT_VARIABLE libdir)
  set(ENV{LD_LIBRARY_PATH} ${libdir})
  set(ENV{PKG_CONFIG_PATH} ${libdir}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs ${ARGN} OUTPUT_VARIABLE flags
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(COMMAND ${COMPILER} -Wall -Wextra -Wpedantic -Werror ${SOURCE} -o ${BUILD}/${program} ${flags}
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${BUILD}/${program} COMMAND_ERROR_IS_FATAL ANY)
  needs(${program} shared)
  if(NOT shared STREQUAL expected)
    message(FATAL_ERROR "${program}: needs the shared library: ${shared}; flags ${flags}")
  endif()
endfunction()

build_and_run(shared ${PREFIX} TRUE groupops)
build_and_run(static ${PREFIX} FALSE groupops-static)
if(EXISTS ${PREFIX}-static)
  build_and_run(static_alone ${PREFIX}-static FALSE --static groupops)
endif()
