# Warnings and hardening for everything that is built here. Inside of another project these are its
# own affair: its compiler may know warnings that ours did not.

if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes$<SEMICOLON>-Wmissing-prototypes>)
endif()

option(GROUPOPS_HARDEN "Stack protector, FORTIFY_SOURCE, RELRO, immediate binding" ${PROJECT_IS_TOP_LEVEL})
if(GROUPOPS_HARDEN)
  include(CheckCompilerFlag)
  include(CheckLinkerFlag)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "groupops_compiler_has${flag}" has)
    check_compiler_flag(C ${flag} ${has})
    if(${has})
      add_compile_options(${flag})
    endif()
  endforeach()
  # FORTIFY_SOURCE does nothing without optimization, and glibc warns of it. Both are options, since
  # CMake puts definitions before all options, where -U would take them back.
  add_compile_options("$<$<NOT:$<CONFIG:Debug>>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>")
  foreach(flag -z,relro -z,now -z,noexecstack -z,defs)
    string(MAKE_C_IDENTIFIER "groupops_linker_has${flag}" has)
    check_linker_flag(C -Wl,${flag} ${has})
    if(${has})
      add_link_options(-Wl,${flag})
    endif()
  endforeach()
endif()
