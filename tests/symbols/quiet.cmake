# An engine's library keeps the contract of the one that it uses: LIBRARY calls nothing that is forbidden.
include(${CMAKE_CURRENT_LIST_DIR}/nm.cmake)

symbol_names(imported --dynamic --undefined-only)
if(NOT imported MATCHES "gops_|mem[a-z]+")
  message(SEND_ERROR "${LIBRARY} uses no name that was expected: ${imported}")
endif()
refuse_forbidden(${imported})
