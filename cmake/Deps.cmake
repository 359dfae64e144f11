# Third-party libraries, each behind one name of ours. Debian 12 and 13 name some of them differently.
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)

add_library(dc_deps_json INTERFACE)
find_package(nlohmann_json REQUIRED)
target_link_libraries(dc_deps_json INTERFACE nlohmann_json::nlohmann_json)

add_library(dc_deps_yaml INTERFACE)
find_package(yaml-cpp REQUIRED)
if(TARGET yaml-cpp::yaml-cpp)
  target_link_libraries(dc_deps_yaml INTERFACE yaml-cpp::yaml-cpp)
else()
  target_link_libraries(dc_deps_yaml INTERFACE yaml-cpp)
endif()

add_library(dc_deps_curl INTERFACE)
find_package(CURL REQUIRED)
target_link_libraries(dc_deps_curl INTERFACE CURL::libcurl)

# Headers only: Debian 12 has 1.81 beside its default 1.74, Debian 13 has 1.83.
add_library(dc_deps_beast INTERFACE)
find_path(DUECOURSE_BOOST_INCLUDE boost/beast/version.hpp REQUIRED)
file(STRINGS ${DUECOURSE_BOOST_INCLUDE}/boost/version.hpp boost_version REGEX "#define BOOST_VERSION [0-9]+")
string(REGEX MATCH "[0-9]+" boost_version "${boost_version}")
if(boost_version LESS 108100)
  message(FATAL_ERROR "Boost 1.81 or newer is needed (libboost1.81-dev on Debian 12); ${DUECOURSE_BOOST_INCLUDE} has ${boost_version}")
endif()
target_include_directories(dc_deps_beast SYSTEM INTERFACE ${DUECOURSE_BOOST_INCLUDE})

add_library(dc_deps_sqlite INTERFACE)
find_package(SQLite3 REQUIRED)
target_link_libraries(dc_deps_sqlite INTERFACE SQLite::SQLite3)

# cctz has no CMake configuration on Debian 12.
add_library(dc_deps_cctz INTERFACE)
find_path(DUECOURSE_CCTZ_INCLUDE cctz/time_zone.h REQUIRED)
find_library(DUECOURSE_CCTZ_LIBRARY cctz REQUIRED)
target_include_directories(dc_deps_cctz SYSTEM INTERFACE ${DUECOURSE_CCTZ_INCLUDE})
target_link_libraries(dc_deps_cctz INTERFACE ${DUECOURSE_CCTZ_LIBRARY})

add_library(dc_deps_cli11 INTERFACE)
find_path(DUECOURSE_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
target_include_directories(dc_deps_cli11 SYSTEM INTERFACE ${DUECOURSE_CLI11_INCLUDE})

# An independent judge of the JSON Schemas, for one test only.
find_path(DUECOURSE_VALIJSON_INCLUDE valijson/validator.hpp)

find_program(DUECOURSE_CCACHE ccache)
if(DUECOURSE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${DUECOURSE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DUECOURSE_CCACHE})
endif()
find_program(DUECOURSE_MOLD mold)
if(DUECOURSE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# The program's allocator (docs/dependencies.md). Sanitizers bring their own.
add_library(dc_deps_jemalloc INTERFACE)
if(NOT DUECOURSE_SANITIZE)
  find_library(DUECOURSE_JEMALLOC_LIBRARY jemalloc REQUIRED)
  target_link_libraries(dc_deps_jemalloc INTERFACE ${DUECOURSE_JEMALLOC_LIBRARY})
endif()
