# Uses the unpacked packages in ROOT: the command, its manual pages, and what each package depends on.

set(ENV{LD_LIBRARY_PATH} ${ROOT}/usr/${LIBDIR})
foreach(words "info" "plan;conv;--data=1,12,11,7;--filter=4,5,3,3,3"
              "bench;--suite=tiny;--threads=1;--reps=1")
  execute_process(COMMAND ${ROOT}/usr/bin/groupops ${words} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${READELF} -d ${ROOT}/usr/bin/groupops
                        ${ROOT}/usr/${LIBDIR}/libgroupops.so ${ROOT}/usr/${LIBDIR}/libgroupops_ort.so
                OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
if(dynamic MATCHES "RUNPATH|RPATH")
  message(FATAL_ERROR "libraries would be looked for elsewhere than where the system does: ${dynamic}")
endif()
foreach(file share/man/man1/groupops.1.gz share/man/man3/gops_execute.3.gz
             lib/python3/dist-packages/groupops_torch/__init__.py include/groupops/groupops.h)
  if(NOT EXISTS ${ROOT}/usr/${file})
    message(FATAL_ERROR "no package has /usr/${file}")
  endif()
endforeach()

# expect(PACKAGE FIELD TEXT...): the field of the package has each of the texts.
function(expect package field)
  file(GLOB file ${ROOT}/../${package}_*.deb)
  execute_process(COMMAND dpkg-deb --field ${file} ${field} OUTPUT_VARIABLE value COMMAND_ERROR_IS_FATAL ANY)
  foreach(text IN LISTS ARGN)
    string(FIND ", ${value}" ", ${text}" position)
    if(position EQUAL -1)
      message(FATAL_ERROR "${package}: ${field} is ${value}, without ${text}")
    endif()
  endforeach()
endfunction()
expect(${LIBRARY} Depends "libc6 (>=" libopenblas0)
expect(${LIBRARY} Multi-Arch same)
expect(groupops-tools Depends "${LIBRARY} (= ${VERSION})" libpng16-16 libxml2)
expect(libgroupops-dev Depends "${LIBRARY} (= ${VERSION})" libopenblas-dev)
expect(libgroupops-onnxruntime Depends "libc6 (>=" libopenblas0)
expect(python3-groupops-torch Depends "${LIBRARY} (>=" python3-torch)
