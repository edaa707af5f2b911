# One static library for each room of src/client and src/shared, named dockdist_<room>, of every source in it, and one for
# src/node and src/probe. Which may include which is checked by tests/quality/check_layers.py against the tables in src/README.md.
#
#   dockdist_layer(NAME [EXCEPT file.cpp…] [SOURCES generated.cpp…] [USES libraries…])
function(dockdist_layer name)
    cmake_parse_arguments(ARG "" "" "EXCEPT;SOURCES;USES" ${ARGN})
    dockdist_sources(sources EXCEPT ${ARG_EXCEPT})
    add_library(dockdist_${name} STATIC ${sources} ${ARG_SOURCES})
    target_include_directories(dockdist_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(dockdist_${name} PUBLIC ${ARG_USES} PRIVATE dockdist_options)
    set_property(GLOBAL APPEND PROPERTY DOCKDIST_LAYERS dockdist_${name})
endfunction()

# Every .cpp file of this folder and those below it.
function(dockdist_sources result)
    cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    list(TRANSFORM ARG_EXCEPT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(REMOVE_ITEM sources ${ARG_EXCEPT})
    set(${result} ${sources} PARENT_SCOPE)
endfunction()

# Texts of files, programs of other languages above all, for this folder's library: what `name.py` holds is there as
# `extern const char* const name_py` in namespace dockdist. Sets `result` to the source that says so.
function(dockdist_embed result)
    set(texts "")
    foreach(file ${ARGN})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
        file(READ ${file} text)
        get_filename_component(name ${file} NAME)
        string(REGEX REPLACE "[^a-z0-9]" "_" name ${name})
        string(APPEND texts "extern const char* const ${name};\nconst char* const ${name} = R\"~~~(${text})~~~\";\n")
    endforeach()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded.cpp.in embedded.cpp @ONLY)
    set(${result} ${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp PARENT_SCOPE)
endfunction()

add_custom_target(unit_tests) # every unit test program

# The folder's sources become one program; each TEST_CASE is one test of ctest, with the label LABEL (unit).
function(dockdist_unit_test name)
    cmake_parse_arguments(ARG "" "LABEL" "USES" ${ARGN})
    if(NOT ARG_LABEL)
        set(ARG_LABEL unit)
    endif()
    dockdist_sources(sources)
    add_executable(unit_${name} ${sources})
    target_include_directories(unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(unit_${name} PRIVATE DOCKDIST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(unit_${name} PRIVATE ${ARG_USES} unit_main dockdist_options)
    add_dependencies(unit_tests unit_${name})
    doctest_discover_tests(unit_${name} TEST_PREFIX "unit/${name}: " PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 120)
    get_property(lists DIRECTORY PROPERTY TEST_INCLUDE_FILES)
    set_property(GLOBAL APPEND PROPERTY DOCKDIST_UNIT_TEST_LISTS ${lists})
endfunction()
