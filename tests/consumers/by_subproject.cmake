# Takes SOURCE into the project PROJECT, where no package that only the tool and the tests need can be
# found. It is built from the objects of OBJECTS where they are given, with SUBDIRECTORY in any case, and run.
# With SUBDIRECTORY it is installed into absolute folders, in BUILD-absolute; else installing finds nothing of it.
file(REMOVE_RECURSE ${BUILD} ${BUILD}-absolute)
set(arguments -DGROUPOPS_SOURCE=${SOURCE} -DGROUPOPS_BLAS=${BLAS} -DCMAKE_C_COMPILER=${COMPILER}
              -DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON -DCMAKE_DISABLE_FIND_PACKAGE_LibXml2=ON
              -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
              -DFETCHCONTENT_FULLY_DISCONNECTED=ON)
set(ENV{CFLAGS} "")
if(SUBDIRECTORY)
  list(APPEND arguments -DSUBDIRECTORY=ON -DGROUPOPS_INSTALL=ON
                        -DCMAKE_BUILD_TYPE=Debug -DEXPECTED_CMAKE_BUILD_TYPE=Debug
                        -DCMAKE_INSTALL_LIBDIR=${BUILD}-absolute/lib
                        -DCMAKE_INSTALL_INCLUDEDIR=${BUILD}-absolute/headers)
endif()
if(NOT OBJECTS)
  list(APPEND arguments -DGROUPOPS_KERNEL_OPTIMIZATION=-O0 -DGROUPOPS_ISAS=portable)
else()
  set(ENV{CMAKE_C_COMPILER_LAUNCHER} "${CMAKE_CURRENT_LIST_DIR}/packages/take_object;${OBJECTS}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -S ${PROJECT} -B ${BUILD} -G ${GENERATOR} ${arguments}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(SUBDIRECTORY OR OBJECTS)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  foreach(library groupops groupops_static)
    execute_process(COMMAND ${BUILD}/consumer_${library} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()

execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${BUILD}/prefix OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE installed RELATIVE ${BUILD}/prefix ${BUILD}/prefix/*)
list(FILTER installed EXCLUDE REGEX "^share/(doc|man)/")
if(NOT installed STREQUAL "share/consumer.c")
  message(FATAL_ERROR "installed were ${installed}")
endif()
if(NOT SUBDIRECTORY AND (EXISTS ${BUILD}/prefix/share/doc OR EXISTS ${BUILD}/prefix/share/man))
  message(FATAL_ERROR "documents of groupops were installed")
endif()
