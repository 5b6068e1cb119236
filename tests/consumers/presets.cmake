# What a user builds by must not fail for a warning that a newer compiler has; what the tests are built
# by must.
foreach(preset release check)
  execute_process(COMMAND ${CMAKE_COMMAND} --preset ${preset} -N WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE ${preset} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(release MATCHES "WARNING_AS_ERROR=\"?(ON|TRUE)" OR NOT release MATCHES "GROUPOPS_TESTS=\"OFF\"")
  message(FATAL_ERROR "release turns warnings into errors, or has the tests: ${release}")
endif()
if(NOT check MATCHES "WARNING_AS_ERROR=\"?(ON|TRUE)")
  message(FATAL_ERROR "check lets warnings pass: ${check}")
endif()
