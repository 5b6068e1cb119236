# Every public header by itself, in every standard that a user may build with, without a warning; its
# comments are the manual.
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror -fsyntax-only)
file(GLOB headers ${INCLUDE}/groupops/*.h)
set(count 0)

function(try_header compiler language standard header)
  execute_process(
    COMMAND ${compiler} -x ${language} -std=${standard} ${warnings} ${ARGN} -I${INCLUDE}
            -include ${header} ${CMAKE_CURRENT_LIST_DIR}/alone.c
    RESULT_VARIABLE result ERROR_VARIABLE text)
  if(NOT result EQUAL 0)
    message(SEND_ERROR "${header} as ${standard}:\n${text}")
  endif()
endfunction()

foreach(header IN LISTS headers)
  file(READ ${header} text)
  if(text MATCHES "/[*][^*][^\n]*")
    message(SEND_ERROR "${header}: doxygen does not read the comment ${CMAKE_MATCH_0}")
  endif()
  foreach(standard c99 c11 c17)
    try_header(${C_COMPILER} c ${standard} ${header} -Wstrict-prototypes)
    math(EXPR count "${count} + 1")
  endforeach()
  if(CXX_COMPILER)
    foreach(standard c++11 c++14 c++17 c++20)
      try_header(${CXX_COMPILER} c++ ${standard} ${header} -Wold-style-cast)
      math(EXPR count "${count} + 1")
    endforeach()
  endif()
endforeach()
if(count LESS 20)
  message(SEND_ERROR "only ${count} headers and standards were tried")
endif()
message(STATUS "${count} headers and standards")
