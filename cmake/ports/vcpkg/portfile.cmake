# A port that lies with its sources: vcpkg install groupops --overlay-ports=GROUPOPS/cmake/ports/vcpkg

get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    tool GROUPOPS_TOOL
)
# The command looks for its suites, and for the library, from where it is installed.
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DGROUPOPS_BLAS=openblas
    -DGROUPOPS_ORT=OFF
    -DGROUPOPS_MPI=OFF
    -DGROUPOPS_TESTS=OFF
  OPTIONS_RELEASE
    ${features}
    -DCMAKE_INSTALL_BINDIR=tools/groupops
  OPTIONS_DEBUG
    -DGROUPOPS_TOOL=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/groupops)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
                    "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
