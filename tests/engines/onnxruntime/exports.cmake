# The provider exports what the runtime looks for, and nothing of the library inside it.
include(${CMAKE_CURRENT_LIST_DIR}/../../symbols/nm.cmake)
symbol_names(names --dynamic --defined-only)
if(NOT names STREQUAL "CreateEpFactories;ReleaseEpFactory")
  message(FATAL_ERROR "${LIBRARY} exports ${names}")
endif()
