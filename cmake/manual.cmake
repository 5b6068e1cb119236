# The manual pages of the headers that are installed, by awk; none where a system has no such thing. Read after
# the engines, as mpi.h is installed where there is an MPI.
find_program(GROUPOPS_AWK awk)
mark_as_advanced(GROUPOPS_AWK)
if(NOT UNIX OR NOT GROUPOPS_AWK)
  return()
endif()
file(GLOB page_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/groupops/*.h)
if(TARGET groupops_mpi)
  list(APPEND page_headers ${PROJECT_SOURCE_DIR}/src/engines/mpi/include/groupops/mpi.h)
endif()
file(GLOB page_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/examples/headers/*.c)
set(pages ${PROJECT_BINARY_DIR}/man/man3)
add_custom_command(
  OUTPUT ${pages}.made
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${pages}
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/man3 ${pages} ${page_headers}
  COMMAND ${CMAKE_COMMAND} -E touch ${pages}.made
  DEPENDS ${page_headers} ${page_examples} ${CMAKE_CURRENT_LIST_DIR}/man3 ${CMAKE_CURRENT_LIST_DIR}/man3.awk
  VERBATIM)
add_custom_target(groupops_header_pages ALL DEPENDS ${pages}.made)
set_target_properties(groupops_header_pages PROPERTIES HEADERS "${page_headers}")
install(DIRECTORY ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT doc)
