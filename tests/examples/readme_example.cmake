# README must hold EXAMPLE, to the letter, between ```c and ```.
file(READ ${README} readme)
file(READ ${EXAMPLE} example)
string(FIND "${readme}" "```c\n${example}```\n" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${README} does not hold the text of ${EXAMPLE} as a code block")
endif()
