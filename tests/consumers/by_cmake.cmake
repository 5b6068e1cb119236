# Configures, builds and runs PROJECT against the package in PREFIX, or in an absolute LIBDIR. CONFIG is where
# the package's own files are, if it is not there.
file(REMOVE_RECURSE ${BUILD})
cmake_path(ABSOLUTE_PATH LIBDIR BASE_DIRECTORY ${PREFIX} OUTPUT_VARIABLE libdir)
set(search ${PREFIX})
if(NOT CONFIG)
  set(CONFIG ${libdir}/cmake/groupops)
endif()
if(IS_ABSOLUTE ${LIBDIR})
  cmake_path(GET LIBDIR PARENT_PATH search)
endif()
string(TOUPPER ${LANGUAGE} upper)
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${PROJECT} -B ${BUILD} -G ${GENERATOR}
          -DCMAKE_${upper}_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${search}
          -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${BUILD}/CMakeCache.txt found REGEX "^groupops_DIR:")
if(NOT found STREQUAL "groupops_DIR:PATH=${CONFIG}")
  message(FATAL_ERROR "another package was found: ${found}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(library groupops groupops_static)
  execute_process(COMMAND ${BUILD}/consumer_${library} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
