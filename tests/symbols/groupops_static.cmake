# Every global name in the static library begins with gops_, so that none can meet a host's own.
include(${CMAKE_CURRENT_LIST_DIR}/nm.cmake)

symbol_names(defined --extern-only --defined-only)
file(STRINGS ${EXPORTED} wanted)
foreach(name IN LISTS wanted)
  if(NOT name IN_LIST defined)
    message(SEND_ERROR "${LIBRARY} does not define ${name}")
  endif()
endforeach()
foreach(name IN LISTS defined)
  # The second: what sanitizers, coverage and the compiler's own helpers add.
  if(NOT name MATCHES "^gops_" AND NOT name MATCHES "^(__|\\.)")
    message(SEND_ERROR "${LIBRARY} defines ${name}, which does not begin with gops_")
  endif()
endforeach()

symbol_names(imported --undefined-only)
refuse_forbidden(${imported})
list(LENGTH defined count)
message(STATUS "${count} global names, all gops_")
