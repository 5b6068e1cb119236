# Installs BUILD into PREFIX, and a second time without the shared library into PREFIX-static,
# where -lgroupops can only mean the static one.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}-static)
foreach(prefix ${PREFIX} ${PREFIX}-static)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} OUTPUT_QUIET
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB shared ${PREFIX}-static/${LIBDIR}/libgroupops.so*)
list(LENGTH shared count)
if(NOT count EQUAL 3) # the file, the soname and the linker's name
  message(FATAL_ERROR "${count} names of the shared library are installed: ${shared}")
endif()
file(REMOVE ${shared})
