# Run by CPack on the installed tree, before it becomes a Debian package: the places and names of Debian's policy.
set(share "${CPACK_TEMPORARY_DIRECTORY}/usr/share")
set(doc "${share}/doc/hpo")
file(RENAME "${share}/zsh/site-functions" "${share}/zsh/vendor-completions")
file(REMOVE "${doc}/LICENSE")
file(COPY_FILE "${CPACK_HPO_SOURCE}/.ci/packaging/copyright" "${doc}/copyright")

# Debian's changelog, with the date of the version in CHANGELOG.md.
file(STRINGS "${CPACK_HPO_SOURCE}/CHANGELOG.md" versions REGEX "^## [0-9.]+ - [0-9-]+$")
list(GET versions 0 version)
string(REGEX MATCH "^## ([0-9.]+) - ([0-9-]+)$" version "${version}")
execute_process(COMMAND date -u -R -d "${CMAKE_MATCH_2}" OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${doc}/changelog" "hpo (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md in this folder.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
execute_process(COMMAND gzip -9nf "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)

# The same modes whatever the umask was.
execute_process(COMMAND chmod -R u=rwX,go=rX "${CPACK_TEMPORARY_DIRECTORY}/usr" COMMAND_ERROR_IS_FATAL ANY)

# No path of the build, where libraries may have been unpacked (.ci/unpack-packages).
foreach(program hpo hpo-worker)
    execute_process(COMMAND patchelf --print-rpath "${CPACK_TEMPORARY_DIRECTORY}/usr/bin/${program}" OUTPUT_VARIABLE path
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    if(path STREQUAL "")
        continue()
    endif()
    # This overwrites the path, which would stay in the file otherwise.
    execute_process(COMMAND patchelf --set-rpath / "${CPACK_TEMPORARY_DIRECTORY}/usr/bin/${program}" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND patchelf --remove-rpath "${CPACK_TEMPORARY_DIRECTORY}/usr/bin/${program}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
