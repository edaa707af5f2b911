# Tests on the lab: real Docker and Podman hosts, see scripts/lab. The first one registered brings `scripts/lab up` and
# `scripts/lab down` around them all, under a name of their own, so that a lab somebody works with stays as it is.
#
#   dockdist_lab_test(NAME COMMAND …)   label "lab"; in its environment DOCKDIST_LAB=test and DOCKDIST=<the built program>
#
# They share hosts, so one runs at a time; quick tests beside them would disturb what they measure.
function(dockdist_lab_test name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "COMMAND" ${ARGN})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 600)
    endif()
    set(environment "DOCKDIST_LAB=test;DOCKDIST=${PROJECT_BINARY_DIR}/dockdist")
    get_property(registered GLOBAL PROPERTY DOCKDIST_LAB_REGISTERED)
    if(NOT registered)
        set_property(GLOBAL PROPERTY DOCKDIST_LAB_REGISTERED TRUE)
        add_test(NAME lab/up COMMAND ${PROJECT_SOURCE_DIR}/scripts/lab up 4 --podman 3,4 --debian12 --force)
        set_tests_properties(lab/up PROPERTIES LABELS lab FIXTURES_SETUP lab ENVIRONMENT "${environment}"
            TIMEOUT 1800 RUN_SERIAL TRUE)
        add_test(NAME lab/down COMMAND ${PROJECT_SOURCE_DIR}/scripts/lab down)
        set_tests_properties(lab/down PROPERTIES LABELS lab FIXTURES_CLEANUP lab ENVIRONMENT "${environment}"
            TIMEOUT 300 RUN_SERIAL TRUE)
    endif()
    add_test(NAME "lab/${name}" COMMAND ${ARG_COMMAND})
    set_tests_properties("lab/${name}" PROPERTIES LABELS lab FIXTURES_REQUIRED lab ENVIRONMENT "${environment}"
        TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL TRUE)
endfunction()
