# Tests. Every folder under tests/ that holds *_test.cc becomes one GoogleTest program, named after its path:
# tests/core/data -> bin/tests/core_data_test, tests/core/learners/lp_mkl -> bin/tests/core_learners_lp_mkl_test. Its tests carry the
# folder's label, and the labels below. A test of a folder links that folder's library and what lies below it, nothing above.
include(GoogleTest)
set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)

set(MERCER_TESTS_WITHOUT "" CACHE STRING "Folders under tests/ to leave out, as a regular expression")
set(test_folders_without_gtest e2e lint web bench fuzz support fixtures data)
set(concurrency_folders server/jobs server/watching server/storage server/blobs server/access)  # label 'concurrency': what the tsan preset runs
set(slow_folders integration network hostile fault e2e)           # label 'slow': what the fast preset leaves out

# Tests of about ten seconds and more begin before all others, so that no processor waits for one of them in the end. (ctest knows how
# long a test takes when it has run it before, which it has not in a new clone.)
string(CONCAT long_tests "^(e2e/(dashboard|python_.*|docs|demo|readme|newcomer|images|cli.*|example_.*)_test|web/.*"
                         "|fault/files/StoreFaultsTest.*|server/storage/MigrationsTest.KilledAtAnyStatement.*"
                         "|conformance/.*(MemoryEstimate|RandomEndings|RunEnds|InterruptedStep|CancelledVerification|UnderAnyOptions).*)")

# Sources of tests that the core can build alone: with the server off, files that include server, client or proto are left out.
function(mercer_core_sources variable)
  set(kept "")
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} foreign REGEX "^#include [\"<](server|client|mercer|google|grpc|grpcpp|tests/support/server)/")
    if(MERCER_BUILD_SERVER OR NOT foreign)
      list(APPEND kept ${source})
    endif()
  endforeach()
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()

# mercer_test_libraries(<variable> <folder under tests/>): what its tests link.
function(mercer_test_libraries variable folder)
  set(libraries mercer_core)
  if(folder MATCHES "^core/(training|learners/_template)$")
    set(libraries mercer_template_learner mercer_io)
  elseif(folder MATCHES "^(conformance|proof)")
    set(libraries mercer_proof mercer_template_learner mercer_core)
  elseif(folder STREQUAL "core/data")
    set(libraries mercer_preprocessing mercer_io)  # its tables are written and read back
  elseif(folder MATCHES "^core/learners")
    set(libraries mercer_learners mercer_io)
  elseif(folder MATCHES "^core/(base|linalg|io|kernels|features|objectives|solvers|training)")
    set(libraries mercer_${CMAKE_MATCH_1})
  elseif(folder MATCHES "^(core|golden)")
    set(libraries mercer_core)
  elseif(folder MATCHES "^server/storage")
    set(libraries mercer_storage_sqlite)
  elseif(folder MATCHES "^server/blobs")
    set(libraries mercer_blobs)
  elseif(folder MATCHES "^server/(access|digest|net)")
    set(libraries mercer_${CMAKE_MATCH_1})
  elseif(folder MATCHES "^server/(jobs|watching)")
    set(libraries mercer_watching mercer_storage_sqlite)
  elseif(folder MATCHES "^server/(api|prediction|rpc|translation|uploads)")
    set(libraries mercer_test_support_server mercer_${CMAKE_MATCH_1} mercer_storage_sqlite mercer_learners)
  elseif(folder MATCHES "^server/(backup|maintenance)")
    set(libraries mercer_maintenance)
  elseif(folder MATCHES "^server/gateway")
    set(libraries mercer_test_support_server mercer_gateway)
  elseif(folder MATCHES "^client")
    set(libraries mercer_test_support_server mercer_cli)
  elseif(folder MATCHES "^network")
    set(libraries mercer_test_support_server mercer_app mercer_client)
  elseif(MERCER_BUILD_SERVER)
    set(libraries mercer_test_support_server mercer_app mercer_cli)
  endif()
  set(${variable} ${libraries} PARENT_SCOPE)
endfunction()

function(mercer_test_labels variable folder)
  string(REGEX REPLACE "/.*" "" top ${folder})
  set(labels ${folder} ${top})
  string(REGEX MATCH "^[^/]+/[^/]+" two_levels ${folder})
  if(two_levels IN_LIST concurrency_folders)
    list(APPEND labels concurrency)
  endif()
  if(top IN_LIST slow_folders)
    list(APPEND labels slow)
  endif()
  list(REMOVE_DUPLICATES labels)
  set(${variable} ${labels} PARENT_SCOPE)
endfunction()

function(mercer_test_program folder sources)
  string(REPLACE "/" "_" name ${folder}_test)
  mercer_test_libraries(libraries ${folder})
  mercer_test_labels(labels ${folder})
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  # The support library precedes what it uses: it links no library of the core itself (see below).
  target_link_libraries(${name} PRIVATE mercer_test_support ${libraries} GTest::gmock_main mercer_warnings)
  target_compile_options(${name} PRIVATE ${test_options})
  if(mercer_test_support_server IN_LIST libraries)
    mercer_use_headers(${name} mercer_test_server_headers)
  else()
    mercer_use_headers(${name} mercer_test_headers)
  endif()
  if(folder MATCHES "^fault")
    add_dependencies(${name} mercer-server mercer-server-faulty)  # run by its tests
  elseif(folder MATCHES "^(hostile|network)")
    add_dependencies(${name} mercer-server)
  elseif(folder MATCHES "^golden")
    add_dependencies(${name} mercer-solve)  # run by its tests
  endif()
  if(MERCER_SANITIZE MATCHES "thread")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/tsan/absl_synchronization.cc)
  endif()
  add_dependencies(mercer_tests ${name})
  add_dependencies(mercer_sanitized_tests ${name})
  if("concurrency" IN_LIST labels)
    add_dependencies(mercer_concurrency_tests ${name})
  endif()
  set(timeout 900)  # of what hangs; the longest takes a minute on an idle machine
  if(MERCER_SANITIZE)
    set(timeout 1200)
  endif()
  set(alone "")
  if(folder MATCHES "^hostile")
    set(alone RUN_SERIAL TRUE)  # floods take every processor, and health must be quick beside them
  endif()
  # The prefix keeps names apart: ctest merges the properties of tests with equal names.
  gtest_discover_tests(${name} TEST_PREFIX ${folder}/ TEST_LIST ${name}_cases DISCOVERY_TIMEOUT 60
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                       PROPERTIES TIMEOUT ${timeout} ENVIRONMENT "MERCER_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" ${alone})
  # gtest_discover_tests keeps only the first of several labels, so they are set when ctest reads the list of tests.
  set(label_file ${PROJECT_BINARY_DIR}/labels/${name}.cmake)
  file(CONFIGURE OUTPUT ${label_file} CONTENT "if(@name@_cases)
  set_tests_properties(\${@name@_cases} PROPERTIES LABELS \"@labels@\")
  set(long_cases \${@name@_cases})
  list(FILTER long_cases INCLUDE REGEX \"@long_tests@\")
  if(long_cases)
    set_tests_properties(\${long_cases} PROPERTIES COST 20)
  endif()
endif()
" @ONLY)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY TEST_INCLUDE_FILES ${label_file})
endfunction()

# ------------------------------------------------------------------------------------------------------------- compilation
# What is tested is compiled as it is shipped; the tests themselves, of which half of a build's time is, with fewer optimisations.
set(test_options -O1)
if(MERCER_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Each access to memory calls the sanitizer in place of testing at once, which takes a quarter of the time to compile.
  list(APPEND test_options "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_UNITY_BUILD)
  # False alarms of GCC 12 within std::string, which it keeps to itself where it reads the headers of its library anew.
  list(APPEND test_options -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
set(test_headers ${core_headers} <filesystem> <fstream> <random> <thread> <absl/time/clock.h> <gmock/gmock.h> <gtest/gtest.h>)
mercer_precompiled_headers(mercer_test_headers OPTIONS ${test_options} HEADERS ${test_headers} LINK ${core_packages} GTest::gmock)
if(MERCER_BUILD_SERVER)
  mercer_precompiled_headers(mercer_test_server_headers OPTIONS ${test_options}
                             HEADERS ${test_headers} <google/protobuf/message.h> <grpcpp/grpcpp.h>
                                     <mercer/v1/dataset_service.grpc.pb.h> <mercer/v1/model_service.grpc.pb.h>
                                     <mercer/v1/prediction_service.grpc.pb.h> <mercer/v1/training_service.grpc.pb.h>
                             LINK ${core_packages} GTest::gmock mercer_proto)
endif()

# ------------------------------------------------------------------------------------------------------ support library
# tests/support/*.cc. It links no library of the core, so that a test of core/base does not wait for the solvers: a test links the
# support library first, then the libraries that its folder may use. What needs the server lies in tests/support/server/*.cc.
mercer_library(mercer_test_support tests/support EXCLUDE "/mercer_solve[^/]*$"
               LINK ${core_packages} mercer_openblas TBB::tbb nlohmann_json::nlohmann_json GTest::gmock)
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/source_folder.cc PROPERTIES
                            COMPILE_DEFINITIONS MERCER_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}" SKIP_UNITY_BUILD_INCLUSION ON)
if(MERCER_BUILD_SERVER)
  mercer_library(mercer_test_support_server tests/support/server HEADERS mercer_test_server_headers
                 LINK mercer_test_support mercer_proto Boost::headers OpenSSL::SSL OpenSSL::Crypto)
  target_compile_options(mercer_test_support_server PRIVATE ${test_options})
endif()

# The example learner is no part of the program, but it is compiled and tested like those that are.
mercer_library(mercer_template_learner core/learners/_template LINK mercer_training)

# The learner of the proof, of which CONTRIBUTING.md tells: a program that links these objects has it beside those that are shipped.
mercer_glob(proof tests/support/proof/*.cc)
add_library(mercer_proof OBJECT ${proof} core/learners/registry.cc core/training/terms/term_kinds.cc)
target_compile_definitions(mercer_proof PRIVATE MERCER_LEARNERS="tests/support/proof/learners.inc" MERCER_TERMS="tests/support/proof/terms.inc")
target_link_libraries(mercer_proof PUBLIC mercer_learners PRIVATE mercer_warnings)

# mercer-solve: trains from a JSON file without a server; used by tests to compare results across processes.
mercer_glob(solve tests/support/mercer_solve*.cc)
if(solve)
  add_executable(mercer-solve ${solve})
  target_link_libraries(mercer-solve PRIVATE mercer_core nlohmann_json::nlohmann_json mercer_warnings)
  mercer_use_headers(mercer-solve mercer_headers)
endif()

# mercer-server-proof: the server with the learner of the proof; run by tests/e2e/proof_test.py.
if(MERCER_BUILD_SERVER)
  add_executable(mercer-server-proof server/app/main.cc)
  set_target_properties(mercer-server-proof PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  target_link_libraries(mercer-server-proof PRIVATE mercer_proof mercer_app mercer_warnings)
endif()

# mercer-server-faulty: the server over files that end it before a chosen call; tests/fault/faulty.
if(MERCER_BUILD_SERVER)
  add_executable(mercer-server-faulty server/app/main.cc tests/fault/faulty/faulty_start.cc tests/fault/files/file_calls.cc
                                      tests/fault/files/file_faults.cc)
  set_target_properties(mercer-server-faulty PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/tests)
  target_link_libraries(mercer-server-faulty PRIVATE mercer_app mercer_warnings)
endif()

# ------------------------------------------------------------------------------------------------------- GoogleTest programs
add_custom_target(mercer_tests)              # every test program
if(TARGET mercer-server-proof)
  add_dependencies(mercer_tests mercer-server-proof)
endif()
add_custom_target(mercer_sanitized_tests)    # those and the fuzz targets, which the asan preset runs
add_custom_target(mercer_concurrency_tests)  # those with label 'concurrency'
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/tests/*_test.cc)
set(test_folders "")
foreach(source IN LISTS test_sources)
  cmake_path(GET source PARENT_PATH folder)
  list(APPEND test_folders ${folder})
endforeach()
list(REMOVE_DUPLICATES test_folders)
foreach(folder IN LISTS test_folders)
  string(REGEX REPLACE "/.*" "" top ${folder})
  if(top IN_LIST test_folders_without_gtest OR (NOT MERCER_BUILD_SERVER AND top MATCHES "^(server|client|integration|network|hostile|fault)$"))
    continue()
  endif()
  if(MERCER_TESTS_WITHOUT AND folder MATCHES "${MERCER_TESTS_WITHOUT}")
    continue()
  endif()
  if(MERCER_SANITIZE AND top STREQUAL "fault")
    continue()  # it ends and starts servers all the time, which sanitizers make slow, and puts calls of files in the place of others
  endif()
  mercer_glob(sources tests/${folder}/*.cc)
  if(folder MATCHES "^(.*)/exhaustion$")  # allocations fail in the whole program, so that it is one of its own
    mercer_glob(helpers tests/${CMAKE_MATCH_1}/*.cc EXCLUDE "_test\\.cc$")
    mercer_glob(failing tests/support/exhaustion/*.cc)
    list(APPEND sources ${helpers} ${failing})
  endif()
  mercer_core_sources(sources ${sources})
  if(sources)
    mercer_test_program(${folder} "${sources}")
  endif()
endforeach()

# ------------------------------------------------------------------------------------------------------------ Python tests
# tests/e2e/*.py runs the built programs, found through MERCER_BIN; tests/lint/*.py checks the tree, tests/web/*.py the dashboard.
# Files that start with '_' and support modules named *_lib.py are only imported.
function(mercer_python_tests folder)
  mercer_glob(scripts tests/${folder}/*.py EXCLUDE "/_[^/]*$" "_lib\\.py$")
  foreach(script IN LISTS scripts)
    cmake_path(GET script STEM stem)
    add_test(NAME ${folder}/${stem} COMMAND ${MERCER_PYTHON} ${script} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    mercer_test_labels(labels ${folder})
    set_tests_properties(${folder}/${stem} PROPERTIES LABELS "${labels}" TIMEOUT 900 ENVIRONMENT
      "MERCER_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PYTHONDONTWRITEBYTECODE=1")
    if(${folder}/${stem} MATCHES "${long_tests}")
      set_tests_properties(${folder}/${stem} PROPERTIES COST 60)
    endif()
  endforeach()
endfunction()
if(MERCER_PYTHON)
  mercer_python_tests(lint)
  if(MERCER_BUILD_SERVER)
    mercer_python_tests(web)
    mercer_python_tests(e2e)
  endif()
else()
  message(STATUS "no /usr/bin/python3: the Python tests are left out")
endif()
