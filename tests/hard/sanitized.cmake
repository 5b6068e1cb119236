# The short form of the sanitizers: builds the library and the test programs TESTS in BINARY with
# -fsanitize=SANITIZERS by COMPILER (through LAUNCHER), and runs them. The inner loops, in which
# UndefinedBehaviorSanitizer takes minutes, are left to the long forms.
set(launcher "")
if(LAUNCHER)
  set(launcher -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER})
endif()
string(REPLACE "," ";" tests ${TESTS})
list(TRANSFORM tests PREPEND test_ OUTPUT_VARIABLE targets)
list(TRANSFORM targets REPLACE "^test_fuzz_" "replay_")
string(REPLACE ";" "|" pattern "${tests}")

# run(command...): ends the test where the command fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BINARY} -G Ninja ${launcher} -DCMAKE_C_COMPILER=${COMPILER}
    -DCMAKE_BUILD_TYPE=Debug -DGROUPOPS_BLAS=${BLAS} -DGROUPOPS_HARDEN=OFF -DGROUPOPS_TOOL=OFF
    -DGROUPOPS_ORT=OFF -DGROUPOPS_KERNEL_FLAGS=-fno-sanitize=undefined
    "-DCMAKE_C_FLAGS=-fsanitize=${SANITIZERS} -fno-sanitize-recover=all")
run(${CMAKE_COMMAND} --build ${BINARY} --parallel 2 --target ${targets})
run(${CMAKE_CTEST_COMMAND} --test-dir ${BINARY} --output-on-failure -R "^(${pattern})$")
message("${output}")
