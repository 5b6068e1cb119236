cmake_minimum_required(VERSION 3.25)

# Runs PROGRAM with the libraries in FOLDER, and fails where it would not use them.
set(ENV{LD_LIBRARY_PATH} ${FOLDER})
execute_process(COMMAND ldd ${PROGRAM} OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${libraries}" "=> ${FOLDER}/lib" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${PROGRAM} does not load a library from ${FOLDER}:\n${libraries}")
endif()
execute_process(COMMAND ${PROGRAM} COMMAND_ERROR_IS_FATAL ANY)
