# What vcpkg's functions do, as far as the port calls them and its manuals say. Included by vcpkg.cmake, whose
# build takes the objects of this one.

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    if(feature IN_LIST FEATURES)
      list(APPEND options -D${option}=ON)
    else()
      list(APPEND options -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

# run(WORDS...): prints what they print only where they fail.
function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${output}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS;OPTIONS_RELEASE;OPTIONS_DEBUG")
  set(common ${arg_OPTIONS} -DCMAKE_INSTALL_LIBDIR:STRING=lib -DCMAKE_INSTALL_BINDIR:STRING=bin)
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR}/rel -G Ninja ${common}
      ${arg_OPTIONS_RELEASE} -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR})
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR}/dbg -G Ninja ${common}
      ${arg_OPTIONS_DEBUG} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}/debug)
endfunction()

function(vcpkg_cmake_install)
  foreach(build rel dbg)
    run(${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR}/${build} --target install)
  endforeach()
endfunction()

# The package's files move from lib/cmake/NAME to share/NAME, one folder nearer to the prefix; those of
# the debug build, but for its list of files, go.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  set(to ${CURRENT_PACKAGES_DIR}/share/${PORT})
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*)
  file(COPY ${files} DESTINATION ${to})
  set(line "get_filename_component\\(_IMPORT_PREFIX \"[^\n]*\" PATH\\)\n")
  set(prefix "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_DIR}/../..\" ABSOLUTE)\n")
  file(READ ${to}/${PORT}-targets.cmake text)
  string(REGEX REPLACE "(${line})+" "${prefix}" text "${text}")
  file(WRITE ${to}/${PORT}-targets.cmake "${text}")
  file(READ ${to}/${PORT}-config.cmake text)
  string(REPLACE "/../../../" "/../../" text "${text}")
  file(WRITE ${to}/${PORT}-config.cmake "${text}")
  set(list ${PORT}-targets-debug.cmake)
  file(READ ${CURRENT_PACKAGES_DIR}/debug/${arg_CONFIG_PATH}/${list} text)
  string(REPLACE "\${_IMPORT_PREFIX}/lib" "\${_IMPORT_PREFIX}/debug/lib" text "${text}")
  file(WRITE ${to}/${list} "${text}")
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake ${CURRENT_PACKAGES_DIR}/debug/lib/cmake)
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()
