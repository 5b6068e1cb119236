cmake_minimum_required(VERSION 3.25)

# symbol_names(result option...) calls nm on LIBRARY and gives the sorted names, without versions.
function(symbol_names result)
  execute_process(COMMAND ${NM} ${ARGN} --format=posix ${LIBRARY} OUTPUT_VARIABLE text
                  ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\n" ";" lines "${text}")
  set(names "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^([A-Za-z_][A-Za-z_0-9.]*)(@[^ ]*)? [A-Za-z]")
      list(APPEND names ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# The library's contract (groupops.h): it never prints, exits or aborts, and leaves the process's
# settings alone. omp_set_num_threads is a setting of the calling task and is set back.
set(forbidden
    abort exit _exit quick_exit printf fprintf vprintf vfprintf puts fputs putchar fputc putc fwrite
    perror __printf_chk __fprintf_chk __vfprintf_chk setenv putenv unsetenv setlocale signal
    sigaction openblas_set_num_threads goto_set_num_threads bli_thread_set_num_threads
    omp_set_dynamic omp_set_nested omp_set_max_active_levels omp_set_schedule)
function(refuse_forbidden)
  foreach(name IN LISTS ARGN)
    if(name IN_LIST forbidden)
      message(SEND_ERROR "${LIBRARY} calls ${name}")
    endif()
  endforeach()
endfunction()
