# cmake -P build.cmake SOURCE BUILD
set(source ${CMAKE_ARGV3})
set(build ${CMAKE_ARGV4})
execute_process(COMMAND ${CMAKE_COMMAND} --preset sanitize -B ${build} WORKING_DIRECTORY ${source} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} --target unit_tests COMMAND_ERROR_IS_FATAL ANY)
