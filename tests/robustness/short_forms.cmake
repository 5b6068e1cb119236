# What ./cmake/dev has a command for and takes a build of its own, in short; and memcheck, which takes
# none. But for the first they are built without optimization, which is a form of `./cmake/dev builds`
# too.

# short_form(NAME COMPILER|CROSS name TESTS name,... [BUILD type] [FLAGS flag...] [KERNEL_FLAGS flag]
#            [ISAS set...] [ENVIRONMENT variable...]): see built_again.cmake.
function(short_form name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "COMPILER;CROSS;TESTS;BUILD;KERNEL_FLAGS"
                        "FLAGS;ISAS;ENVIRONMENT")
  if(NOT arg_BUILD)
    set(arg_BUILD Debug)
  endif()
  set(command "")
  if(NOT arg_ISAS AND TARGET groupops_tool AND NOT arg_CROSS)
    set(command $<TARGET_FILE:groupops_tool>)
  elseif(NOT arg_ISAS)
    set(arg_ISAS all)
  endif()
  list(JOIN arg_FLAGS "\\;" flags)
  list(JOIN arg_ISAS "\\;" isas)
  add_test(NAME ${name}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DBINARY=${PROJECT_BINARY_DIR}/${name}
            -DCOMPILER=${arg_COMPILER} -DCROSS=${arg_CROSS} -DTESTS=${arg_TESTS} -DFLAGS=${flags}
            -DBUILD=${arg_BUILD} -DKERNEL_FLAGS=${arg_KERNEL_FLAGS} -DISAS=${isas}
            -DCOMMAND=${command} -DLAUNCHER=${CMAKE_C_COMPILER_LAUNCHER}
            -DBLAS=${GROUPOPS_BLAS} -P ${CMAKE_CURRENT_SOURCE_DIR}/built_again.cmake)
  set_tests_properties(${name} PROPERTIES TIMEOUT 1500 LABELS short_form ENVIRONMENT "${arg_ENVIRONMENT}"
                       SKIP_REGULAR_EXPRESSION "^skipped, because")
endfunction()

# Of `builds`, its other two forms at once. The inner loops are not linked so, and not optimized: they show that
# no set takes what it must not from the compiler, and the lesser sets show it best.
set(lesser portable)
if("avx2" IN_LIST groupops_isas)
  list(APPEND lesser avx2)
endif()
short_form(native_lto COMPILER ${CMAKE_C_COMPILER} TESTS random,random_quantized BUILD Release ISAS ${lesser}
  FLAGS -O3 -march=native -flto=auto KERNEL_FLAGS "SHELL:-fno-lto -O0"
  ENVIRONMENT GROUPOPS_TEST_RANDOM_COUNT=2000)
# The inner loops, in which UndefinedBehaviorSanitizer takes minutes, are left to the long form.
short_form(sanitized_address COMPILER ${CMAKE_C_COMPILER} TESTS random,random_quantized,fuzz_operations
  FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all KERNEL_FLAGS -fno-sanitize=undefined
  ENVIRONMENT GROUPOPS_TEST_RANDOM_COUNT=700
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0)
# gcc's OpenMP is not built for ThreadSanitizer, which does not see its barriers: it has one thread.
# One instruction set will do.
short_form(sanitized_threads COMPILER ${CMAKE_C_COMPILER} TESTS storm FLAGS -fsanitize=thread ISAS portable
  ENVIRONMENT GROUPOPS_TEST_HOST=threads TSAN_OPTIONS=ignore_noninstrumented_modules=1
    OMP_THREAD_LIMIT=1 GROUPOPS_TEST_STORM_SECONDS=3)
# Of `msan` and of `clang`.
short_form(sanitized_memory COMPILER clang TESTS random,random_quantized,fuzz_operations FLAGS -fsanitize=memory
  ENVIRONMENT GROUPOPS_TEST_RANDOM_COUNT=280)
foreach(processor s390x aarch64 i386)
  short_form(cross_${processor} CROSS ${processor} TESTS random,random_quantized,spec_examples
    ENVIRONMENT GROUPOPS_TEST_RANDOM_COUNT=56)
endforeach()

# Over a GEMM of the tests' own: the BLAS may take AVX-512, which valgrind does not know.
find_program(GROUPOPS_VALGRIND valgrind)
mark_as_advanced(GROUPOPS_VALGRIND)
if(GROUPOPS_VALGRIND)
  add_test(NAME memcheck_random
    COMMAND ${GROUPOPS_VALGRIND} --quiet --fair-sched=try --error-exitcode=9 --leak-check=full
            --errors-for-leak-kinds=definite,possible
            --suppressions=${PROJECT_SOURCE_DIR}/cmake/valgrind.supp $<TARGET_FILE:test_random>)
  set_tests_properties(memcheck_random PROPERTIES TIMEOUT 600
                       ENVIRONMENT "GROUPOPS_TEST_RANDOM_COUNT=280;OMP_THREAD_LIMIT=1;GROUPOPS_TEST_HOST=own")
endif()
