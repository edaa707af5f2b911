# Tests in Python: pytest runs each of ctest's in a process of its own. Their harness is tests/harness.
#
#   dockdist_pytest(NAME NODE_ID [BEFORE WORD…] [ENVIRONMENT NAME=VALUE …] [PROPERTIES NAME VALUE …])
#       one test of ctest: a file, a class or a function, named as pytest does, from tests/ on. BEFORE: what runs pytest's command
#   dockdist_list_pytest(OUTPUT tests|classes|files PATH …)
#       sets OUTPUT_names, OUTPUT_ids and OUTPUT_marks, as pytest collects them
# Without pytest everything can be built; each test, or list of tests, that needs it fails and says so.
find_program(DOCKDIST_PYTEST NAMES pytest-3 pytest) # pytest-3: Debian's, whatever other Python there is

set(DOCKDIST_RUN_PYTEST ${DOCKDIST_PYTEST} -q -c ${PROJECT_SOURCE_DIR}/tests/pytest.ini)

function(dockdist_pytest name id)
    cmake_parse_arguments(ARG "" "" "BEFORE;ENVIRONMENT;PROPERTIES" ${ARGN})
    add_test(NAME "${name}" COMMAND ${ARG_BEFORE} ${DOCKDIST_RUN_PYTEST} "${PROJECT_SOURCE_DIR}/tests/${id}")
    # Plugins that happen to be installed are not ours, and cost time at each start.
    set_tests_properties("${name}" PROPERTIES SKIP_RETURN_CODE 77
        ENVIRONMENT "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1;${ARG_ENVIRONMENT}" ${ARG_PROPERTIES})
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
