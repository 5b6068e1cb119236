# The instruction sets that the kernels are compiled for: groupops_isas, best last, and for each
# groupops_isa_NAME_flags and groupops_isa_NAME_base. "portable" is the compiler's default for the
# processor.
#
# A set whose base is another one differs from it only in kernels that multiply 8 bits: files named
# *.vnni.isa.c are compiled for it, and of all others it takes the base's.

include(CheckCompilerFlag)
set(groupops_isas portable)
set(groupops_isa_portable_flags "")
set(groupops_isa_portable_base portable)

set(base_avx2 avx2)
set(wanted_avx2 -mavx2 -mfma -mf16c)
set(base_avx512 avx512)
set(wanted_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mfma -mf16c
                  -mprefer-vector-width=512)
set(base_avx2vnni avx2)
set(wanted_avx2vnni ${wanted_avx2} -mavxvnni)
# Cascade Lake has VNNI without VBMI, which permutes bytes.
set(base_avx512vnni avx512)
set(wanted_avx512vnni ${wanted_avx512} -mavx512vnni)
set(base_avx512vbmi avx512)
set(wanted_avx512vbmi ${wanted_avx512vnni} -mavx512vbmi)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  foreach(isa avx2 avx2vnni avx512 avx512vnni avx512vbmi)
    set(base ${base_${isa}})
    if(NOT isa STREQUAL base AND NOT base IN_LIST groupops_isas)
      continue()
    endif()
    list(JOIN wanted_${isa} " " flags)
    check_compiler_flag(C "${flags}" groupops_compiler_has_${isa})
    if(groupops_compiler_has_${isa})
      list(APPEND groupops_isas ${isa})
      set(groupops_isa_${isa}_flags ${wanted_${isa}})
      set(groupops_isa_${isa}_base ${base})
    endif()
  endforeach()
endif()
message(STATUS "Instruction sets: ${groupops_isas}")
