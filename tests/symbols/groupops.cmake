# The shared library exports exactly the names in EXPORTED, all of one version, under SONAME, which is
# also what the Python file BINDING loads.
include(${CMAKE_CURRENT_LIST_DIR}/nm.cmake)

file(STRINGS ${EXPORTED} wanted)
list(SORT wanted)
list(LENGTH wanted count)
if(count LESS 20)
  message(FATAL_ERROR "${EXPORTED} holds ${count} names only")
endif()

# What the headers declare, to the name.
file(GLOB headers ${HEADERS}/*.h)
set(declared "")
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REGEX MATCHALL "\nGOPS_API[^(]*[ *]gops_[a-z0-9_]+\\(" declarations "${text}")
  list(TRANSFORM declarations REPLACE ".*[ *](gops_[a-z0-9_]+).*" "\\1")
  list(APPEND declared ${declarations})
endforeach()
list(SORT declared)
if(NOT declared STREQUAL wanted)
  message(SEND_ERROR "the headers declare ${declared}\nbut ${EXPORTED} lists ${wanted}")
endif()

symbol_names(exported --dynamic --defined-only)
list(FILTER exported EXCLUDE REGEX "^GROUPOPS_[0-9.]+$") # the version itself
set(missing ${wanted})
list(REMOVE_ITEM missing ${exported})
set(surplus ${exported})
list(REMOVE_ITEM surplus ${wanted})
if(missing)
  message(SEND_ERROR "${LIBRARY} does not export: ${missing}")
endif()
if(surplus)
  message(SEND_ERROR "${LIBRARY} exports what ${EXPORTED} does not list: ${surplus}")
endif()

execute_process(COMMAND ${READELF} --wide --dyn-syms ${LIBRARY} OUTPUT_VARIABLE dynamic
                COMMAND_ERROR_IS_FATAL ANY)
foreach(name IN LISTS wanted)
  if(NOT dynamic MATCHES " ${name}@@GROUPOPS_[0-9.]+")
    message(SEND_ERROR "${name} has no symbol version")
  endif()
endforeach()

execute_process(COMMAND ${READELF} --wide --dynamic ${LIBRARY} OUTPUT_VARIABLE dynamic
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT dynamic MATCHES "SONAME[^\n]*\\[${SONAME}\\]")
  message(SEND_ERROR "the soname is not ${SONAME}:\n${dynamic}")
endif()
file(READ ${BINDING} binding)
string(FIND "${binding}" "\"${SONAME}\"" found)
if(found EQUAL -1)
  message(SEND_ERROR "${BINDING} does not load ${SONAME}")
endif()

symbol_names(imported --dynamic --undefined-only)
refuse_forbidden(${imported})
message(STATUS "${count} names exported")
