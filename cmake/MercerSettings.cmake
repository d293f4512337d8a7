# Language, flags and definitions that every target of the project shares, as the interface library mercer_settings.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# -g1: line tables for stack traces and profiles, at a fraction of the size and link time of -g. Sanitized builds keep assertions.
if(MERCER_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
else()
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
endif()

find_program(MERCER_CCACHE ccache)
if(MERCER_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${MERCER_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${MERCER_CCACHE})
endif()

add_library(mercer_settings INTERFACE)
target_include_directories(mercer_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(
  mercer_settings
  INTERFACE EIGEN_MAX_ALIGN_BYTES=64  # the same in every object, so that buffers and sums never depend on the flags of one file
            EIGEN_MPL2_ONLY           # refuses Eigen's LGPL modules
            EIGEN_DONT_PARALLELIZE    # threads belong to the bounded loops of core/base
)
# Plain x86-64 (no -march); no fused multiply-add behind our back: the same bits from every compiler and optimisation level.
target_compile_options(mercer_settings INTERFACE -ffp-contract=off)

add_library(mercer_warnings INTERFACE)
target_compile_options(
  mercer_warnings
  INTERFACE -Wall -Wextra -Wconversion -Wshadow
            $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
            $<$<BOOL:${MERCER_WERROR}>:-Werror>
)

# CMAKE_UNITY_BUILD (all presets but debug) compiles several files of a target as one, which halves the time of files whose headers are
# most of them. Two files of a folder then may not define one name, not even in an anonymous namespace.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The file that defines a class within an anonymous namespace is no longer the one that GCC is asked to compile.
  target_compile_options(mercer_warnings INTERFACE -Wno-subobject-linkage)
endif()

# Global, not in mercer_settings: the same flags must reach generated code and the link lines too.
if(MERCER_SANITIZE)
  add_compile_options(-fsanitize=${MERCER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MERCER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # false alarms of GCC 12 in std::regex under sanitizers
  endif()
  if(MERCER_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
if(MERCER_BUILD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # counts which branches an input reaches; only the targets link libFuzzer's main
endif()
