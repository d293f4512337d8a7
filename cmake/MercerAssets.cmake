# mercer_embed_assets(<target> <folder> <file> <path>): compiles the files of <folder>, which may be absent, and <file>, which is asked
# for at <path>, into <target>, each compressed with gzip when that makes it smaller. BuiltInAssets() of server/gateway lists them.
function(mercer_embed_assets target folder file path)
  set(root ${PROJECT_SOURCE_DIR}/${folder})
  set(out ${PROJECT_BINARY_DIR}/assets)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${root}/*)
  add_custom_command(
    OUTPUT ${out}/asset_table.cc
    COMMAND ${CMAKE_COMMAND} -D ROOT=${root} -D OUT=${out} -D FILE=${PROJECT_SOURCE_DIR}/${file} -D FILE_PATH=${path}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedAssets.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/${file} ${PROJECT_SOURCE_DIR}/cmake/EmbedAssets.cmake
    COMMENT "assets of ${folder}"
    VERBATIM)
  target_sources(${target} PRIVATE ${out}/asset_table.cc)
  set_source_files_properties(${out}/asset_table.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
