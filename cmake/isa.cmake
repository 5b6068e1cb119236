# The instruction sets that the kernels are compiled for: groupops_isas, best last, and for each
# groupops_isa_NAME_flags. "portable" is the compiler's default for the processor.

include(CheckCompilerFlag)
set(groupops_isas portable)
set(groupops_isa_portable_flags "")

set(wanted_avx2 -mavx2 -mfma -mf16c)
set(wanted_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mfma -mf16c
                  -mprefer-vector-width=512)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  foreach(isa avx2 avx512)
    list(JOIN wanted_${isa} " " flags)
    check_compiler_flag(C "${flags}" groupops_compiler_has_${isa})
    if(groupops_compiler_has_${isa})
      list(APPEND groupops_isas ${isa})
      set(groupops_isa_${isa}_flags ${wanted_${isa}})
    endif()
  endforeach()
endif()
message(STATUS "Instruction sets: ${groupops_isas}")
