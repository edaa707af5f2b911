# Tests on labs: real Docker and Podman hosts, see scripts/lab. There are two labs, so that two tests run side by side where
# there are processors for them: one waits while the other computes, and what a test does to its hosts disturbs no other. Each
# lab comes up with the first of its tests and goes after the last, under a name of its own, so that a lab somebody works
# with stays as it is.
#
#   dockdist_lab_test(NAME NODE_ID [MARK…])       label "lab"; in its environment DOCKDIST_LAB and DOCKDIST=<the built program>
#   dockdist_slurm_test(NAME NODE_ID [MARK…])     the same on a third lab, of hosts with a Slurm
#
# Tests take turns on the labs in the order of their files, which divides kinds of tests evenly. An exclusive one measures
# time: nothing at all runs beside it. One marked `packages` comes after what makes them.
include(${CMAKE_CURRENT_LIST_DIR}/pytest.cmake)
set(DOCKDIST_LABS test test-2 CACHE STRING "Names of the two labs that tests run on")
set(DOCKDIST_SLURM_LAB test-slurm CACHE STRING "Name of the lab with a Slurm")

# A test that fails is run once more, alone, when all others of its lab are over: lab/second-try-LAB says what became of it, and ctest
# calls its first try skipped (tests/gate/tries.py).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(lab_environment DOCKDIST=${PROJECT_BINARY_DIR}/dockdist DOCKDIST_PROBE_STUBS=${PROJECT_BINARY_DIR}/tests/probe
    DOCKDIST_TRIES=${PROJECT_BINARY_DIR}/flaky)
set(lab_tries ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/gate/tries.py)
set(lab_seconds 380) # for a test; ctest, which would give no second try, waits longer

# dockdist_lab(NAME OPTION…): a lab as scripts/lab up makes it with these options, up while its tests run.
function(dockdist_lab name)
    set(properties LABELS lab ENVIRONMENT "DOCKDIST_LAB=${name}")
    add_test(NAME lab/up-${name} COMMAND ${PROJECT_SOURCE_DIR}/scripts/lab up ${ARGN} --force)
    set_tests_properties(lab/up-${name} PROPERTIES FIXTURES_SETUP lab-${name} TIMEOUT 1800 ${properties})
    add_test(NAME lab/down-${name} COMMAND ${PROJECT_SOURCE_DIR}/scripts/lab down)
    set_tests_properties(lab/down-${name} PROPERTIES FIXTURES_CLEANUP lab-${name} TIMEOUT 300 ${properties})
    add_test(NAME lab/second-try-${name} COMMAND ${lab_tries} second ${name})
    set_tests_properties(lab/second-try-${name} PROPERTIES FIXTURES_CLEANUP tries-${name} FIXTURES_REQUIRED lab-${name} TIMEOUT 1300 RUN_SERIAL TRUE ${properties})
    set_property(TEST lab/second-try-${name} APPEND PROPERTY ENVIRONMENT PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 ${lab_environment})
endfunction()

function(dockdist_lab_test name id)
    get_property(count GLOBAL PROPERTY DOCKDIST_LAB_TESTS)
    if(NOT count)
        set(count 0)
        foreach(lab ${DOCKDIST_LABS})
            dockdist_lab(${lab} 5 --podman 3,4 --containerd-store 5 --debian12)
        endforeach()
    endif()
    math(EXPR place "(${count} % 4 + 1) / 2 % 2") # 0 1 1 0: tests that come in pairs change places
    math(EXPR count "${count} + 1")
    set_property(GLOBAL PROPERTY DOCKDIST_LAB_TESTS ${count})
    list(GET DOCKDIST_LABS ${place} lab)
    dockdist_test_on(${lab} ${name} ${id} ${ARGN})
endfunction()

function(dockdist_slurm_test name id)
    if(NOT TEST lab/up-${DOCKDIST_SLURM_LAB})
        dockdist_lab(${DOCKDIST_SLURM_LAB} 3 --slurm)
    endif()
    dockdist_test_on(${DOCKDIST_SLURM_LAB} ${name} ${id} ${ARGN})
endfunction()

function(dockdist_test_on lab name id)
    set(beside RESOURCE_LOCK lab-${lab})
    if("exclusive" IN_LIST ARGN)
        set(beside RUN_SERIAL TRUE)
        set_property(GLOBAL APPEND PROPERTY DOCKDIST_EXCLUSIVE ${name})
        get_property(exclusive GLOBAL PROPERTY DOCKDIST_EXCLUSIVE)
        list(LENGTH exclusive count)
        if(count GREATER 10)
            message(FATAL_ERROR "more than ten tests want the machine for themselves: ${exclusive}")
        endif()
    endif()
    dockdist_pytest("lab/${name}" ${id} BEFORE ${lab_tries} first "lab/${name}" ${lab_seconds}
        PROPERTIES LABELS lab TIMEOUT 400 ${beside} ENVIRONMENT DOCKDIST_LAB=${lab} ${lab_environment})
    set_property(TEST "lab/${name}" PROPERTY FIXTURES_REQUIRED lab-${lab} tries-${lab})
    if("packages" IN_LIST ARGN)
        set_property(TEST "lab/${name}" APPEND PROPERTY FIXTURES_REQUIRED packages)
    endif()
endfunction()
