# What the linker and the compiler were to put into FILE: cmake/flags.cmake.
execute_process(COMMAND ${READELF} --wide --program-headers --dynamic ${FILE}
                OUTPUT_VARIABLE elf COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${READELF} --wide --dyn-syms ${FILE}
                OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)

function(want what pattern text)
  if(NOT text MATCHES "${pattern}")
    message(SEND_ERROR "${FILE}: ${what}")
  endif()
endfunction()

want("the stack may be executed" "GNU_STACK[^\n]* RW " "${elf}")
want("no relocations are read-only (RELRO)" "GNU_RELRO" "${elf}")
want("symbols are bound late (no BIND_NOW)" "FLAGS_1[^\n]*NOW" "${elf}")
want("no stack protector" "__stack_chk_(fail|guard)" "${symbols}")
want("no FORTIFY_SOURCE" " __[a-z_]+_chk@" "${symbols}")
if(elf MATCHES "TEXTREL")
  message(SEND_ERROR "${FILE}: code is relocated (TEXTREL)")
endif()
string(REGEX MATCH "LOAD[^\n]* RWE" writable "${elf}")
if(writable)
  message(SEND_ERROR "${FILE}: a segment may be written and executed")
endif()
if(PIE)
  want("not position-independent" "FLAGS_1[^\n]*PIE" "${elf}")
endif()
