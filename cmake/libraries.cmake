# The libraries. With DOCKDIST_STATIC the program has all of them in itself, the C library too, and runs on any Linux: what is
# tested here is what is given away. Static rather than with libraries beside it, as the toolkit has them: it is one file,
# which may be renamed and copied, and it opens no library of the host's (main.cpp says which names it looks up how).
set(static_default OFF)
if(NOT DOCKDIST_SANITIZE AND EXISTS /etc/debian_version) # other distributions bring few archives
    set(static_default ON)
endif()
option(DOCKDIST_STATIC "Link the program statically" ${static_default})
if(DOCKDIST_STATIC)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
    set(Boost_USE_STATIC_LIBS ON)
    set(OPENSSL_USE_STATIC_LIBS ON)
endif()

# The packages that become part of the programs. The files of a package are older than its last upgrade, so that Ninja would keep what
# was made with those before it: a digest of the versions stands in every command.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/install-packages --libraries OUTPUT_VARIABLE library_names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" DOCKDIST_LIBRARY_PACKAGES "${library_names}")
find_program(DPKG_QUERY dpkg-query)
if(DPKG_QUERY)
    execute_process(COMMAND ${DPKG_QUERY} --show ${DOCKDIST_LIBRARY_PACKAGES} OUTPUT_VARIABLE library_versions ERROR_QUIET)
    string(SHA1 digest "${library_versions}")
    string(SUBSTRING ${digest} 0 8 digest)
    add_compile_definitions(DOCKDIST_LIBRARIES=0x${digest})
endif()

find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(LibArchive REQUIRED)
find_package(CLI11 REQUIRED)
find_package(doctest REQUIRED)

# dockdist_library(TARGET HEADER LIBRARY): one that brings no CMake package, or one for its shared form alone.
function(dockdist_library target header library)
    string(MAKE_C_IDENTIFIER ${target} variable)
    find_path(${variable}_INCLUDE ${header} REQUIRED)
    find_library(${variable}_LIBRARY ${library} REQUIRED)
    add_library(${target} INTERFACE)
    target_include_directories(${target} SYSTEM INTERFACE ${${variable}_INCLUDE})
    target_link_libraries(${target} INTERFACE ${${variable}_LIBRARY})
endfunction()

dockdist_library(libssh2 libssh2.h ssh2)
dockdist_library(libsodium sodium.h sodium)
dockdist_library(libzstd zstd.h zstd)
dockdist_library(libyaml-cpp yaml-cpp/yaml.h yaml-cpp)
dockdist_library(buildkit_protocol nghttp2/nghttp2.h nghttp2) # what BuildKit speaks: gRPC's HTTP/2, and protobuf
find_path(PROTOZERO_INCLUDE protozero/pbf_reader.hpp REQUIRED)
target_include_directories(buildkit_protocol SYSTEM INTERFACE ${PROTOZERO_INCLUDE})

add_library(dockdist_fmt INTERFACE)
if(DOCKDIST_STATIC)
    # Debian has no archive of fmt.
    add_library(fmt_archive STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_archive.cpp)
    get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
    target_include_directories(fmt_archive SYSTEM PUBLIC ${fmt_include})
    target_link_libraries(dockdist_fmt INTERFACE fmt_archive)
    # An archive does not say what it needs.
    foreach(name zstd lzma bz2 z)
        find_library(needed_${name} ${name} REQUIRED)
        target_link_libraries(LibArchive::LibArchive INTERFACE ${needed_${name}})
    endforeach()
    target_link_libraries(libssh2 INTERFACE OpenSSL::Crypto ${needed_z})
else()
    target_link_libraries(dockdist_fmt INTERFACE fmt::fmt)
endif()
