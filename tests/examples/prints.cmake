# PROGRAM, a command with its words, must print what TEXT, a regular expression, matches, and end with 0. ctest's own
# PASS_REGULAR_EXPRESSION would not look at the latter.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed ERROR_VARIABLE printed RESULT_VARIABLE status)
if(NOT status STREQUAL "0" OR NOT printed MATCHES "${TEXT}")
  message(FATAL_ERROR "${PROGRAM} ended with ${status} and printed\n${printed}")
endif()
