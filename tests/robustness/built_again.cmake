# The short form of what takes a build of its own: builds the library and the test programs TESTS in
# BINARY by COMPILER (through LAUNCHER), or for the processor CROSS, as BUILD with the FLAGS and the
# instruction sets ISAS, or the best of COMMAND's that run here, and runs them. The inner loops are
# compiled with KERNEL_FLAGS besides.
# Without the compiler, or without what ./cmake/dev cross has fetched for the processor, it is skipped.
set(how "")
if(LAUNCHER)
  set(how -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER})
endif()
if(CROSS)
  set(needed build/cross-${CROSS}-packages/unpacked)
  if(NOT EXISTS ${SOURCE}/${needed})
    message("skipped, because there is no ${needed}; ./cmake/dev cross ${CROSS} makes it")
    return()
  endif()
  set(BLAS openblas-openmp) # what it fetches
  list(APPEND how -DCMAKE_TOOLCHAIN_FILE=${SOURCE}/cmake/cross.cmake -DGROUPOPS_CROSS=${CROSS})
else()
  # Not every clang has OpenMP and the sanitizers' own libraries.
  file(WRITE ${BINARY}.c "int main(void) { return 0; }\n")
  execute_process(COMMAND ${COMPILER} ${FLAGS} -fopenmp ${BINARY}.c -o ${BINARY}.out
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(NOT result EQUAL 0)
    message("skipped, because ${COMPILER} makes no programs with ${FLAGS} -fopenmp")
    return()
  endif()
  list(APPEND how -DCMAKE_C_COMPILER=${COMPILER})
endif()
string(REPLACE "," ";" tests ${TESTS})
list(TRANSFORM tests PREPEND test_ OUTPUT_VARIABLE targets)
list(TRANSFORM targets REPLACE "^test_fuzz_" "replay_")
# Of the sets for floating point, the best one and the portable one.
list(TRANSFORM tests REPLACE "^random$" "random(_portable)?")
list(TRANSFORM tests REPLACE "^(random_quantized)$" "\\1_.*") # has a test for each case
if(FLAGS) # else the toolchain's own
  string(REPLACE ";" " " flags "${FLAGS}")
  list(APPEND how "-DCMAKE_C_FLAGS=${flags}")
endif()

# run(command...): ends the test where the command fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

if(COMMAND)
  run(${COMMAND} info)
  string(REGEX MATCH "instruction sets +([^;]*);" ISAS "${output}")
  string(REPLACE ", " ";" ISAS "${CMAKE_MATCH_1}")
  list(FILTER ISAS EXCLUDE REGEX "not on this processor")
  if(";${ISAS};" MATCHES ";avx512;") # then without avx2, of the same source, and the emulation
    list(FILTER ISAS EXCLUDE REGEX "^(avx2|amx_emulated)")
  endif()
endif()
list(JOIN ISAS "\\;" ISAS)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BINARY} -G Ninja ${how} -DCMAKE_BUILD_TYPE=${BUILD} -DCMAKE_C_FLAGS_DEBUG=-g1
    -DGROUPOPS_BLAS=${BLAS} -DGROUPOPS_HARDEN=OFF -DGROUPOPS_TOOL=OFF -DGROUPOPS_ORT=OFF
    "-DGROUPOPS_KERNEL_FLAGS=${KERNEL_FLAGS}" "-DGROUPOPS_ISAS=${ISAS}")
run(${CMAKE_COMMAND} --build ${BINARY} --parallel 2 --target ${targets})
foreach(pattern IN LISTS tests)
  run(${CMAKE_CTEST_COMMAND} --test-dir ${BINARY} --output-on-failure --no-tests=error -R "^${pattern}$")
  message("${output}")
endforeach()
