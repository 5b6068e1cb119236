# Compiles SOURCE with what pkg-config says of the package in PREFIX and runs it; then the same with
# the one in PREFIX-static and --static.
file(REMOVE_RECURSE ${BUILD})
file(MAKE_DIRECTORY ${BUILD})
set(ENV{LD_LIBRARY_PATH} ${PREFIX}/${LIBDIR})

function(build_and_run program prefix)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} ${ARGN} --cflags --libs groupops OUTPUT_VARIABLE flags
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(COMMAND ${COMPILER} -Wall -Wextra -Wpedantic -Werror ${SOURCE} -o ${BUILD}/${program} ${flags}
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${BUILD}/${program} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

build_and_run(shared ${PREFIX})
build_and_run(static ${PREFIX}-static --static)
