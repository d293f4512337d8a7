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
  # What builds of two folders compile alike is compiled once, precompiled headers too, which the compiler cache takes only when it is
  # told that their macros and times are no concern.
  set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${MERCER_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# A program loads the libraries that it calls, and no others: OpenBLAS begins threads when it is loaded.
add_link_options(LINKER:--as-needed)
find_program(MERCER_GOLD ld.gold)  # of Debian's binutils; in half the time of the usual linker
if(MERCER_GOLD AND NOT MERCER_SANITIZE)  # it warns of symbols of Clang's sanitizers
  add_link_options(-fuse-ld=gold)
endif()

cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND memory GREATER 6000)
  # GCC collects garbage from a heap of 128 MB on by itself, which takes a tenth of its time: a file never needs these 4 GB. The largest
  # folder takes 3.8 GB then, and 3.0 otherwise.
  add_compile_options("SHELL:--param ggc-min-heapsize=4000000")
endif()

add_library(mercer_settings INTERFACE)
target_include_directories(mercer_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(
  mercer_settings
  INTERFACE EIGEN_MAX_ALIGN_BYTES=64  # the same in every object, so that buffers and sums never depend on the flags of one file
            EIGEN_MPL2_ONLY           # refuses Eigen's LGPL modules
            EIGEN_DONT_PARALLELIZE    # threads belong to the bounded loops of core/base
)
# Plain x86-64 (no -march); no fused multiply-add behind our back: the same bits from every compiler and optimisation level. -pthread is
# what gRPC's targets ask for: precompiled headers want it everywhere.
target_compile_options(mercer_settings INTERFACE -ffp-contract=off -pthread)
# A file is called by its path within the project, wherever that lies: what two clones compile alike is alike.
target_compile_options(mercer_settings INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

add_library(mercer_warnings INTERFACE)
target_compile_options(
  mercer_warnings
  INTERFACE -Wall -Wextra -Wconversion -Wshadow
            $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
            $<$<BOOL:${MERCER_WERROR}>:-Werror>
)

# CMAKE_UNITY_BUILD (all presets but debug) compiles the files of a target as one, which takes a third of the time of one by one: headers
# are read once, and templates that several files use, most of all Eigen's, are compiled once. Two files of a folder then may not define
# one name, not even in an anonymous namespace.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
if(CMAKE_UNITY_BUILD)
  # GCC: the file that defines a class within an anonymous namespace is no longer the one that is compiled. Clang: a local name may be one
  # that another file of the folder has in its anonymous namespace, of which GCC does not complain.
  target_compile_options(mercer_warnings INTERFACE $<IF:$<CXX_COMPILER_ID:GNU>,-Wno-subobject-linkage,-Wno-shadow>)
endif()

# Global, not in mercer_settings: the same flags must reach generated code and the link lines too.
if(MERCER_SANITIZE)
  add_compile_definitions(MERCER_SANITIZED)
  add_compile_options(-fsanitize=${MERCER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MERCER_SANITIZE})
  if(MERCER_SANITIZE_WITHOUT)
    add_compile_options(-fno-sanitize=${MERCER_SANITIZE_WITHOUT})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # false alarms of GCC 12 in std::regex under sanitizers
  else()
    add_compile_options(-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers_ignore.txt)
  endif()
  if(MERCER_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
if(MERCER_BUILD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # counts which branches an input reaches; only the targets link libFuzzer's main
endif()
