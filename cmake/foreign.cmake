# The programs of the toolkit for hosts of the other architecture: the same sources as this machine's, compiled once more.
#
#   dockdist_foreign_program(PROGRAM [LIBRARY…])   PROGRAM-ARCHITECTURE beside PROGRAM, from the same sources and layers
#
# DOCKDIST_FOREIGN is that architecture, in Debian's (and Go's) words, or empty where nothing can be compiled for it: other
# compilers than clang know one machine, and the other's C library comes from packages that Debian alone has so.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(DOCKDIST_ARCHITECTURE amd64)
    set(foreign arm64)
    set(foreign_machine aarch64)
    set(foreign_hardening -mbranch-protection=standard)
else()
    set(DOCKDIST_ARCHITECTURE arm64)
    set(foreign amd64)
    set(foreign_machine x86_64)
    set(foreign_hardening -mbranch-protection=none -fcf-protection=full)
endif()
set(foreign_default "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND EXISTS /usr/lib/gcc-cross/${foreign_machine}-linux-gnu AND NOT DOCKDIST_SANITIZE)
    set(foreign_default ${foreign})
endif()
set(DOCKDIST_FOREIGN "${foreign_default}" CACHE STRING "The other architecture whose hosts get a toolkit: ${foreign}, or none")
if(NOT DOCKDIST_FOREIGN)
    return()
endif()

# The archives that programs for it are linked with, and the packages that bring them. The C library is one of them: that of the
# cross compiler gets no security updates.
set(DOCKDIST_FOREIGN_ARCHIVES ssl crypto sodium ssh2 nghttp2 archive yaml-cpp boost_url zstd lzma lz4 bz2 z)
set(packages libssl-dev libsodium-dev libssh2-1-dev libnghttp2-dev libarchive-dev libyaml-cpp-dev libboost-url1.81-dev libzstd-dev liblzma-dev
    liblz4-dev libbz2-dev zlib1g-dev libc6-dev)
string(SHA1 digest "${packages}")
string(SUBSTRING ${digest} 0 8 digest)
set(foreign_libraries ${PROJECT_BINARY_DIR}/foreign/${foreign_machine}-${digest})
set(DOCKDIST_FOREIGN_LIBRARIES ${foreign_libraries} CACHE INTERNAL "For the bill of materials")
if(NOT EXISTS ${foreign_libraries}/versions)
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/make-toolkit --architecture ${foreign} --unpack ${foreign_libraries} ${packages}
        COMMAND_ERROR_IS_FATAL ANY)
    # Scripts of the linker's, which name files by their places on a machine of that architecture: what is linked dynamically (the
    # probe) takes the cross compiler's.
    foreach(library c m)
        file(WRITE ${foreign_libraries}/usr/lib/${foreign_machine}-linux-gnu/lib${library}.so "INPUT(/usr/${foreign_machine}-linux-gnu/lib/lib${library}.so)\n")
    endforeach()
endif()

set(foreign_triple ${foreign_machine}-linux-gnu)
add_library(dockdist_foreign INTERFACE) # what is compiled and linked for it
target_compile_options(dockdist_foreign INTERFACE --target=${foreign_triple} -fcf-protection=none ${foreign_hardening})
target_include_directories(dockdist_foreign SYSTEM INTERFACE ${foreign_libraries}/usr/include/${foreign_triple})
target_link_options(dockdist_foreign INTERFACE --target=${foreign_triple} -L${foreign_libraries}/usr/lib/${foreign_triple})

# Sets `result` to the target that is `target` for the other architecture, with the same sources and definitions.
function(dockdist_foreign_target result target)
    set(name ${target}-${DOCKDIST_FOREIGN})
    set(${result} ${name} PARENT_SCOPE)
    if(TARGET ${name})
        return()
    endif()
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    list(TRANSFORM sources PREPEND ${folder}/ REGEX "^[^/]")
    if(type STREQUAL "EXECUTABLE")
        add_executable(${name} EXCLUDE_FROM_ALL ${sources})
    else()
        add_library(${name} OBJECT EXCLUDE_FROM_ALL ${sources}) # an archive would need an ar that knows that machine
    endif()
    target_link_libraries(${name} PRIVATE dockdist_foreign)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    get_target_property(definitions ${target} COMPILE_DEFINITIONS)
    if(definitions)
        target_compile_definitions(${name} PRIVATE ${definitions})
    endif()
endfunction()

function(dockdist_foreign_program program)
    dockdist_foreign_target(foreign ${program})
    get_target_property(layers ${program} MANUALLY_ADDED_DEPENDENCIES)
    foreach(layer ${layers}) # whose archives are this machine's
        dockdist_foreign_target(objects ${layer})
        target_link_libraries(${objects} PRIVATE fmt::fmt-header-only nlohmann_json::nlohmann_json Boost::headers dockdist_options)
        target_link_libraries(${foreign} PRIVATE ${objects})
        get_target_property(definitions ${layer} INTERFACE_COMPILE_DEFINITIONS)
        if(definitions)
            target_compile_definitions(${foreign} PRIVATE ${definitions})
        endif()
    endforeach()
    get_target_property(libraries ${program} LINK_LIBRARIES)
    list(FILTER libraries EXCLUDE REGEX "TARGET_FILE:")
    list(REMOVE_ITEM libraries ${layers})
    foreach(library ${libraries} ${ARGN})
        if(TARGET ${library})
            get_target_property(type ${library} TYPE)
            if(type STREQUAL "OBJECT_LIBRARY")
                get_target_property(options ${library} LINK_LIBRARIES)
                dockdist_foreign_target(library ${library})
                target_link_libraries(${library} PRIVATE ${options})
            endif()
        endif()
        target_link_libraries(${foreign} PRIVATE ${library})
    endforeach()
    get_target_property(options ${program} LINK_OPTIONS)
    target_link_options(${foreign} PRIVATE ${options})
endfunction()
