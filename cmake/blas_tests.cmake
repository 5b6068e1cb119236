# The test of thread counts once more, over every other flavour of the BLAS that is installed here
# and has the same soname: by LD_LIBRARY_PATH, which goes before a RUNPATH. (Another soname needs
# another build: `cmake/dev blas`.) `kind` is from blas.cmake.

if(CMAKE_CROSSCOMPILING) # cmake/cross.cmake has one flavour, and an LD_LIBRARY_PATH of its own
  return()
endif()
cmake_path(GET groupops_blas_libraries FILENAME file)
foreach(flavour openmp pthread serial)
  find_library(library NAMES ${file} PATH_SUFFIXES ${kind}-${flavour} NO_CACHE)
  cmake_path(GET library PARENT_PATH folder)
  cmake_path(GET folder FILENAME found)
  if(TARGET test_threads AND found STREQUAL ${kind}-${flavour})
    add_test(NAME threads_over_${kind}-${flavour}
      COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:test_threads> -DFOLDER=${folder}
              -P ${CMAKE_CURRENT_LIST_DIR}/run_over.cmake)
    set_tests_properties(threads_over_${kind}-${flavour} PROPERTIES TIMEOUT 300)
  endif()
  unset(library)
endforeach()
