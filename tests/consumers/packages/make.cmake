# Makes the Debian packages as the preset `package` does, of the objects that were built in OBJECTS, and
# unpacks them in BUILD/root. What lintian says of them is left to `./cmake/dev package`.
file(REMOVE_RECURSE ${BUILD})
set(ENV{SOURCE_DATE_EPOCH} 1700000000)
set(ENV{DPKG_DEB_COMPRESSOR_TYPE} gzip) # the quickest
separate_arguments(arguments UNIX_COMMAND "${ARGUMENTS}")
set(launcher ${CMAKE_CURRENT_LIST_DIR}/take_object ${OBJECTS})
execute_process(
  COMMAND ${CMAKE_COMMAND} --preset package -B ${BUILD} ${arguments} -DCMAKE_C_COMPILER=${COMPILER}
          "-DCMAKE_C_COMPILER_LAUNCHER=${launcher}"
  WORKING_DIRECTORY ${SOURCE} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(target all package)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target ${target} OUTPUT_VARIABLE output
                  ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${output}")
  endif()
endforeach()

file(GLOB packages ${BUILD}/*.deb)
set(names "")
foreach(package IN LISTS packages)
  execute_process(COMMAND dpkg-deb --extract ${package} ${BUILD}/root COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND dpkg-deb --show --showformat=\${Package} ${package} OUTPUT_VARIABLE name
                  COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND names ${name})
endforeach()
list(SORT names)
if(NOT names STREQUAL EXPECTED)
  message(FATAL_ERROR "the packages are ${names}")
endif()
