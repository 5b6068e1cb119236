# Builds for another processor, with Debian's cross compilers, and runs its tests under qemu-user, or
# on the processor itself where it can run them: GROUPOPS_CROSS is aarch64, s390x (big endian) or
# i386 (32 bits). `./cmake/dev cross NAME` brings what it takes: the libraries for that processor are
# unpacked in build/cross-NAME-packages, so that no foreign architecture has to be added to the system.

set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GROUPOPS_CROSS)
set(GROUPOPS_CROSS aarch64 CACHE STRING "The processor to build for: aarch64, s390x or i386")
set_property(CACHE GROUPOPS_CROSS PROPERTY STRINGS aarch64 s390x i386)

set(processor ${GROUPOPS_CROSS})
if(GROUPOPS_CROSS STREQUAL "i386")
  set(processor i686)
  # Without SSE, gcc warns that vectors are returned in another way than with it.
  set(CMAKE_C_FLAGS_INIT "-msse2 -mfpmath=sse")
endif()
set(triple ${processor}-linux-gnu)
cmake_path(SET packages NORMALIZE
           ${CMAKE_CURRENT_LIST_DIR}/../build/cross-${GROUPOPS_CROSS}-packages)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${processor})
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_FIND_ROOT_PATH ${packages})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY BOTH) # OpenMP's lies with the compiler

# Debian names folders of i386 libraries after i386, its compiler after i686.
set(libraries ${packages}/usr/lib/${GROUPOPS_CROSS}-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE ${GROUPOPS_CROSS}-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${packages})
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link,${libraries}) # what the BLAS needs itself
set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,-rpath-link,${libraries})
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-${GROUPOPS_CROSS};-L;/usr/${triple};-E;LD_LIBRARY_PATH=${libraries})
# Most x86-64 kernels run 32-bit programs. Their C library is not where programs look for it, so the
# dynamic loader starts them.
if(GROUPOPS_CROSS STREQUAL "i386" AND CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(loader /usr/${triple}/lib/ld-linux.so.2)
  execute_process(COMMAND ${loader} --version RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${loader} --library-path ${libraries}:/usr/${triple}/lib)
  else() # pthread_create never returns under qemu-i386 7.2
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -E OMP_THREAD_LIMIT=1)
  endif()
endif()
