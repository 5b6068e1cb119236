# The instruction sets that the kernels are compiled for: groupops_isas, best last. "portable" is the
# compiler's default for the processor. For each NAME:
#
#   groupops_isa_NAME_flags    of the compiler
#   groupops_isa_NAME_base     a set that adds few instructions takes all other kernels from this one;
#                              itself, if it has all of its own
#   groupops_isa_NAME_vnni     the set whose kernels of 8 bits it takes: mostly itself
#   groupops_isa_NAME_vbmi     likewise those of 8 bits for which VBMI makes a difference
#   groupops_isa_NAME_kinds    the kinds of files *.KIND.isa.c that are compiled for it: vnni, vbmi,
#                              bf16, amx, each (for every set)

include(CheckCompilerFlag)
set(GROUPOPS_ISAS "all" CACHE STRING
    "The instruction sets to compile kernels for beside portable: all that the compiler has, or a list of names")
set(groupops_isas portable)
set(groupops_isa_portable_flags "")
set(groupops_isa_portable_base portable)
set(groupops_isa_portable_vnni portable)
set(groupops_isa_portable_vbmi portable)
set(groupops_isa_portable_kinds vnni vbmi each)

# AMX and AVX512-BF16 in plain C, so that their kernels can be tested on every processor. Vectors of
# 64 bytes stay within functions.
if(GROUPOPS_ISAS STREQUAL "all" OR "amx_emulated" IN_LIST GROUPOPS_ISAS)
  list(APPEND groupops_isas amx_emulated)
endif()
set(groupops_isa_amx_emulated_flags -DGOPS_EMULATED_ISA=1 -Wno-psabi)
set(groupops_isa_amx_emulated_base portable)
set(groupops_isa_amx_emulated_vnni amx_emulated)
set(groupops_isa_amx_emulated_vbmi portable)
set(groupops_isa_amx_emulated_kinds vnni bf16 amx each)

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
set(vnni_avx512vbmi avx512vnni)
set(kinds_avx512vbmi vbmi each)
# Zen 4 and later; Cooper Lake, without VBMI, goes without.
set(base_avx512bf16 avx512)
set(wanted_avx512bf16 ${wanted_avx512vbmi} -mavx512bf16)
set(vnni_avx512bf16 avx512vnni)
set(vbmi_avx512bf16 avx512vbmi)
set(kinds_avx512bf16 bf16 each)
set(base_amx avx512)
set(wanted_amx ${wanted_avx512bf16} -mamx-tile -mamx-int8 -mamx-bf16)
set(vbmi_amx avx512vbmi)
set(kinds_amx vnni bf16 amx each)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  foreach(isa avx2 avx2vnni avx512 avx512vnni avx512vbmi avx512bf16 amx)
    set(base ${base_${isa}})
    if(NOT GROUPOPS_ISAS STREQUAL "all" AND NOT isa IN_LIST GROUPOPS_ISAS)
      continue()
    endif()
    set(needed ${base} ${vnni_${isa}} ${vbmi_${isa}})
    list(REMOVE_ITEM needed ${isa} ${groupops_isas})
    if(needed)
      continue()
    endif()
    list(JOIN wanted_${isa} " " flags)
    check_compiler_flag(C "${flags}" groupops_compiler_has_${isa})
    if(groupops_compiler_has_${isa})
      list(APPEND groupops_isas ${isa})
      set(groupops_isa_${isa}_flags ${wanted_${isa}})
      set(groupops_isa_${isa}_base ${base})
      set(groupops_isa_${isa}_vnni ${isa})
      set(groupops_isa_${isa}_vbmi ${isa})
      set(groupops_isa_${isa}_kinds vnni vbmi each)
      foreach(what vnni vbmi kinds)
        if(DEFINED ${what}_${isa})
          set(groupops_isa_${isa}_${what} ${${what}_${isa}})
        endif()
      endforeach()
    endif()
  endforeach()
endif()
foreach(isa IN LISTS GROUPOPS_ISAS)
  if(NOT isa STREQUAL "all" AND NOT isa IN_LIST groupops_isas)
    message(FATAL_ERROR "GROUPOPS_ISAS names \"${isa}\": no such set, or none that the compiler has for this "
                        "processor, or one that takes kernels from others that are not listed: "
                        "${base_${isa}} ${vnni_${isa}} ${vbmi_${isa}}")
  endif()
endforeach()
message(STATUS "Instruction sets: ${groupops_isas}")
