# SPDX-License-Identifier: MIT
# In a root of Debian: the archive of the sources is configured with the smallest options and installed, its headers make a
# plugin, and CMake takes an application and a plugin of it.
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends cmake flatbuffers-compiler g++ libflatbuffers-dev make meson \
  nlohmann-json3-dev pkg-config >/dev/null
mkdir /tmp/sources
tar -xf release/tenon-*.tar.gz -C /tmp/sources --strip-components=1
meson setup /tmp/build /tmp/sources --prefix /opt/tenon -Dhost=disabled
meson install -C /tmp/build
PKG_CONFIG_PATH=$(dirname "$(find /opt/tenon -name tenon.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
c++ -std=c++20 samples/examples/backends/hello/hello.cpp -o /tmp/hello.so $(pkg-config --cflags tenon) \
  $(pkg-config --variable=plugin_cflags tenon) $(pkg-config --variable=plugin_ldflags tenon)

mkdir /tmp/project
cp samples/examples/applications/embed/embed.cpp samples/examples/backends/demo_backend/demo_backend.cpp \
  samples/examples/backends/demo_backend/demo_blob.hpp /tmp/project
cat >/tmp/project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.17)
project(consumer LANGUAGES CXX)
include(FetchContent)
FetchContent_Declare(tenon URL none)
FetchContent_MakeAvailable(tenon)
add_executable(embed embed.cpp)
target_link_libraries(embed PRIVATE Tenon::host)
tenon_add_plugin(demo_backend demo_backend.cpp)
END
cmake -Wno-dev -S /tmp/project -B /tmp/project/build -DFETCHCONTENT_SOURCE_DIR_TENON=/tmp/sources
cmake --build /tmp/project/build --parallel 2
/tmp/project/build/embed /tmp/project/build/demo_backend.so samples/tests/fixtures/demo_sin_inline/model.pte |
  grep -x 0.389418
