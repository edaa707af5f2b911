# One static library a folder of src/, named dockdist_<folder>. Which folder may include which is checked by
# tests/quality/check_layers.py against the table in src/README.md.
function(dockdist_layer name)
    cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
    add_library(dockdist_${name} STATIC ${ARG_SOURCES})
    target_include_directories(dockdist_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(dockdist_${name} PUBLIC ${ARG_USES} PRIVATE dockdist_options)
endfunction()

add_custom_target(unit_tests) # every unit test program

# tests/unit/<layer>/*.cpp become one program; each TEST_CASE is one test of ctest.
function(dockdist_unit_test name)
    cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
    add_executable(unit_${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/unit/main.cpp)
    target_include_directories(unit_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(unit_${name} PRIVATE DOCKDIST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(unit_${name} PRIVATE ${ARG_USES} dockdist_options)
    add_dependencies(unit_tests unit_${name})
    file(RELATIVE_PATH folder ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR})
    set_property(GLOBAL APPEND PROPERTY DOCKDIST_UNIT_PROGRAMS ${folder}/unit_${name})
    doctest_discover_tests(unit_${name} TEST_PREFIX "unit/${name}: " PROPERTIES LABELS unit TIMEOUT 60)
endfunction()
