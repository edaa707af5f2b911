# `cmake --install`, into the usual folders; scripts/package makes the packages of it.
include(GNUInstallDirs)
install(TARGETS dockdist RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/templates/ DESTINATION ${CMAKE_INSTALL_DATADIR}/dockdist)

# What the program itself says: the completions of shells, and its pages for man.
install(CODE "
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
    foreach(place bash-completion/completions/dockdist zsh/site-functions/_dockdist fish/vendor_completions.d/dockdist.fish)
        string(REGEX MATCH \"^[a-z]+\" shell \${place})
        get_filename_component(folder \${prefix}/\${place} DIRECTORY)
        file(MAKE_DIRECTORY \${folder})
        execute_process(COMMAND \"$<TARGET_FILE:dockdist>\" completion \${shell} OUTPUT_FILE \${prefix}/\${place} COMMAND_ERROR_IS_FATAL ANY)
        message(STATUS \"Installing: \${prefix}/\${place}\")
    endforeach()
    execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/scripts/docs\" --program \"$<TARGET_FILE:dockdist>\" man \${prefix}/man COMMAND_ERROR_IS_FATAL ANY)
    file(GLOB pages \${prefix}/man/*)
    foreach(page \${pages})
        if(page MATCHES \"/([^/]+[.]([15]))$\")
            file(MAKE_DIRECTORY \${prefix}/man/man\${CMAKE_MATCH_2})
            file(RENAME \${page} \${prefix}/man/man\${CMAKE_MATCH_2}/\${CMAKE_MATCH_1})
        endif()
    endforeach()")
