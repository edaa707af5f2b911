# Tests in Python: pytest runs each of ctest's in a process of its own. Their harness is tests/harness.
#
#   dockdist_pytest(NAME NODE_ID [TRIES GROUP SECONDS] [ENVIRONMENT NAME=VALUE …] [PROPERTIES NAME VALUE …])
#       one test of ctest: a file, a class or a function, named as pytest does, from tests/ on. TRIES: it has SECONDS, and where it
#       fails a second try, alone, when all others of the group are over
#   dockdist_second_tries(GROUP LABEL [NAME VALUE …])
#       the test LABEL/second-try-GROUP, which says what became of those; ctest calls their first tries skipped (tests/gate/tries.py)
#   dockdist_list_pytest(OUTPUT tests|classes|files PATH …)
#       sets OUTPUT_names, OUTPUT_ids and OUTPUT_marks, as pytest collects them
# Without pytest everything can be built; each test, or list of tests, that needs it fails and says so.
find_program(DOCKDIST_PYTEST NAMES pytest-3 pytest) # pytest-3: Debian's, whatever other Python there is

set(DOCKDIST_RUN_PYTEST ${DOCKDIST_PYTEST} -q -c ${PROJECT_SOURCE_DIR}/tests/pytest.ini)

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(DOCKDIST_RUN_TRIES ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/gate/tries.py)
# Plugins that happen to be installed are not ours, and cost time at each start.
set(DOCKDIST_PYTEST_ENVIRONMENT PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 DOCKDIST_TRIES=${PROJECT_BINARY_DIR}/flaky)

function(dockdist_pytest name id)
    cmake_parse_arguments(ARG "" "" "TRIES;ENVIRONMENT;PROPERTIES" ${ARGN})
    set(command ${DOCKDIST_RUN_PYTEST} "${PROJECT_SOURCE_DIR}/tests/${id}")
    if(ARG_TRIES)
        list(GET ARG_TRIES 0 group)
        list(GET ARG_TRIES 1 seconds)
        list(PREPEND command ${DOCKDIST_RUN_TRIES} first ${group} "${name}" ${seconds})
        math(EXPR patience "${seconds} + 20") # ctest, which would give no second try, waits longer
        list(APPEND ARG_PROPERTIES TIMEOUT ${patience})
    endif()
    add_test(NAME "${name}" COMMAND ${command})
    set_tests_properties("${name}" PROPERTIES SKIP_RETURN_CODE 77
        ENVIRONMENT "${DOCKDIST_PYTEST_ENVIRONMENT};${ARG_ENVIRONMENT}" ${ARG_PROPERTIES})
    if(ARG_TRIES)
        set_property(TEST "${name}" APPEND PROPERTY FIXTURES_REQUIRED tries-${group})
    endif()
endfunction()

function(dockdist_second_tries group label)
    set(name ${label}/second-try-${group})
    add_test(NAME ${name} COMMAND ${DOCKDIST_RUN_TRIES} second ${group})
    set_tests_properties(${name} PROPERTIES FIXTURES_CLEANUP tries-${group} TIMEOUT 1300 RUN_SERIAL TRUE LABELS ${label}
        ENVIRONMENT "${DOCKDIST_PYTEST_ENVIRONMENT}" ${ARGN})
endfunction()

function(dockdist_list_pytest output each)
    if(NOT DOCKDIST_PYTEST)
        set(${output}_names pytest_IS_MISSING PARENT_SCOPE)
        set(${output}_ids pytest_IS_MISSING PARENT_SCOPE)
        set(${output}_marks . PARENT_SCOPE)
        return()
    endif()
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/tests/ OUTPUT_VARIABLE paths)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 ${DOCKDIST_RUN_PYTEST} --list-for-ctest ${each} ${paths}
        OUTPUT_VARIABLE told RESULT_VARIABLE code)
    if(NOT code EQUAL 0 AND NOT code EQUAL 5) # 5: none has run
        message(FATAL_ERROR "pytest cannot list the tests in ${ARGN}:\n${told}")
    endif()
    string(REGEX MATCHALL "ctest: [^\n]+" lines "${told}")
    set(names "")
    set(ids "")
    set(marks "")
    foreach(line ${lines})
        string(REGEX MATCH "^ctest: ([^ ]+) ([^ ]+) ?(.*)$" _ "${line}")
        list(APPEND names "${CMAKE_MATCH_1}")
        list(APPEND ids "${CMAKE_MATCH_2}")
        list(APPEND marks "${CMAKE_MATCH_3}.") # an element of a list is never empty
    endforeach()
    set(${output}_names ${names} PARENT_SCOPE)
    set(${output}_ids ${ids} PARENT_SCOPE)
    set(${output}_marks ${marks} PARENT_SCOPE)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${paths})
endfunction()
