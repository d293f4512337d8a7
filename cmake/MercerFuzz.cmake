# Fuzz targets: every tests/fuzz/<name>.cc defines TestOneInput and Seeds (tests/fuzz/support/fuzz_target.h) and becomes a program.
# With MERCER_BUILD_FUZZ it is linked with libFuzzer: bin/fuzz/<name>, which `./dev fuzz` runs. Else it is linked with
# tests/fuzz/replay and becomes the test fuzz/<name>: seeds, tests/fuzz/corpus/<name>, and a fixed number of mutations.
set(mercer_fuzz_mutations 500)
set(mercer_fuzz_mutations_slow 30)
set(mercer_fuzz_slow blob_store checkpoint database learner_state restore upload)  # files, or training, for each input

if(NOT TARGET mercer_template_learner)
  mercer_library(mercer_template_learner core/learners/_template LINK mercer_training)
endif()
mercer_library(mercer_fuzz_support tests/fuzz/support LINK mercer_preprocessing mercer_io)
mercer_library(mercer_fuzz_training tests/fuzz/support/training LINK mercer_fuzz_support mercer_template_learner mercer_learners)
if(MERCER_BUILD_SERVER)
  mercer_library(mercer_fuzz_messages tests/fuzz/support/server LINK mercer_fuzz_support mercer_translation)
endif()

# mercer_fuzz_compilation(<target> <whether it includes the server>): replayed as tests, targets are compiled as tests are.
function(mercer_fuzz_compilation target has_server)
  if(MERCER_BUILD_FUZZ)
    mercer_use_headers(${target} mercer_headers)
    return()
  endif()
  target_compile_options(${target} PRIVATE ${test_options})
  if(has_server)
    mercer_use_headers(${target} mercer_test_server_headers)
  else()
    mercer_use_headers(${target} mercer_test_headers)
  endif()
endfunction()

# Folders that a target includes, and their libraries, from those that use others to those that are used: the order of the link.
# A target links no more than it includes, so that a parser of core/io does not wait for the server.
set(mercer_fuzz_rules
    tests/fuzz/support/server=mercer_fuzz_messages server/app=mercer_app client/cpp/cli=mercer_cli client/cpp=mercer_client
    server/maintenance=mercer_maintenance server/gateway=mercer_gateway server/api=mercer_api server/prediction=mercer_prediction
    server/uploads=mercer_uploads server/rpc=mercer_rpc server/translation=mercer_translation
    server/watching=mercer_watching server/jobs=mercer_jobs server/access=mercer_access
    server/backup=mercer_backup server/blobs=mercer_blobs server/digest=mercer_digest server/budget=mercer_budget
    server/storage/sqlite=mercer_storage_sqlite server/storage=mercer_storage
    mercer/v1=mercer_proto tests/fuzz/support/training=mercer_fuzz_training core/learners=mercer_learners
    core/training=mercer_training)

function(mercer_fuzz_libraries variable source)
  set(libraries "")
  foreach(rule IN LISTS mercer_fuzz_rules)
    string(REGEX MATCH "^(.*)=(.*)$" matched ${rule})
    set(folder ${CMAKE_MATCH_1})
    set(library ${CMAKE_MATCH_2})
    file(STRINGS ${source} includes REGEX "^#include \"${folder}/")
    if(includes)
      list(APPEND libraries ${library})
    endif()
  endforeach()
  set(${variable} ${libraries} mercer_fuzz_support PARENT_SCOPE)
endfunction()

if(NOT MERCER_BUILD_FUZZ)
  add_library(mercer_fuzz_replay OBJECT tests/fuzz/replay/replay_main.cc)
  target_link_libraries(mercer_fuzz_replay PRIVATE mercer_settings mercer_warnings)
endif()
add_custom_target(mercer_fuzz)

mercer_glob(fuzz_sources tests/fuzz/*.cc)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  mercer_fuzz_libraries(libraries ${source})
  file(STRINGS ${source} server_includes REGEX "^#include \"(server|client|mercer)/")
  if(server_includes AND NOT MERCER_BUILD_SERVER)
    continue()
  endif()
  add_executable(fuzz_${name} ${source})
  target_link_libraries(fuzz_${name} PRIVATE ${libraries} mercer_warnings)
  mercer_fuzz_compilation(fuzz_${name} "${server_includes}")
  add_dependencies(mercer_fuzz fuzz_${name})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fuzz OUTPUT_NAME ${name})
  if(MERCER_BUILD_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    continue()
  endif()
  target_link_libraries(fuzz_${name} PRIVATE mercer_fuzz_replay)
  add_dependencies(mercer_tests fuzz_${name})
  add_dependencies(mercer_sanitized_tests fuzz_${name})
  if(name IN_LIST mercer_fuzz_slow)
    set(mutations ${mercer_fuzz_mutations_slow})
  else()
    set(mutations ${mercer_fuzz_mutations})
  endif()
  add_test(NAME fuzz/${name}
           COMMAND fuzz_${name} --mutations=${mutations} --keep=${PROJECT_BINARY_DIR}/fuzz_${name}.input tests/fuzz/corpus/${name}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endforeach()
