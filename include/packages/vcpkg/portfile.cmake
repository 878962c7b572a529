# SPDX-License-Identifier: MIT
#
# An overlay port, which builds the sources that it is in: vcpkg install tenon --overlay-ports=include/packages/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if("host" IN_LIST FEATURES)
  set(host enabled)
else()
  set(host disabled)
endif()
# The libraries are static and have no interface that differs between Debug and Release.
set(VCPKG_BUILD_TYPE release)
# For Windows the C interface is a DLL in any case.
set(VCPKG_POLICY_DLLS_IN_STATIC_LIBRARY enabled)
vcpkg_configure_meson(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -Dauto_features=disabled
    -Db_ndebug=true
    "-Dhost=${host}"
  ADDITIONAL_BINARIES
    "flatc = ['${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers/flatc${VCPKG_HOST_EXECUTABLE_SUFFIX}']")
vcpkg_install_meson()

# From lib/cmake/Tenon to share/tenon, one folder nearer to the prefix.
vcpkg_cmake_config_fixup(PACKAGE_NAME tenon CONFIG_PATH lib/cmake/Tenon)
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/tenon/TenonConfig.cmake"
  "\${CMAKE_CURRENT_LIST_DIR}/../../.." "\${CMAKE_CURRENT_LIST_DIR}/../..")
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE")
