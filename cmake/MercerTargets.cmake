# mercer_library(<name> <folder> [SUBFOLDERS] [HEADERS <name>] [EXCLUDE <regex>...] [LINK <target>...])
#   The library of one folder: all its .cc files (with SUBFOLDERS those of its direct subfolders too). A folder without .cc files,
#   or without anything, becomes an interface library, so that dependents need not know the difference. HEADERS: see mercer_use_headers.
function(mercer_library name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "SUBFOLDERS" "HEADERS" "EXCLUDE;LINK")
  if(NOT arg_HEADERS)
    set(arg_HEADERS mercer_headers)
  endif()
  mercer_glob(sources ${folder}/*.cc EXCLUDE ${arg_EXCLUDE})
  if(arg_SUBFOLDERS)
    mercer_glob(more ${folder}/*/*.cc EXCLUDE ${arg_EXCLUDE})
    list(APPEND sources ${more})
  endif()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC mercer_settings ${arg_LINK} PRIVATE mercer_warnings)
    mercer_use_headers(${name} ${arg_HEADERS})
    # A static library needs the headers of what it links, not its archives: compile folders side by side.
    set_target_properties(${name} PROPERTIES OPTIMIZE_DEPENDENCIES ON)
    # Highway compiles such a file, itself, once per instruction set.
    foreach(source IN LISTS sources)
      file(STRINGS ${source} found REGEX "hwy/foreach_target\\.h" LIMIT_COUNT 1)
      if(found)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endforeach()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE mercer_settings ${arg_LINK})
  endif()
endfunction()

# mercer_precompiled_headers(<name> [OPTIONS <option>...] HEADERS <header>... LINK <target>...)
#   What the compiler knows when it has read these headers, kept in a file, for mercer_use_headers: to read Eigen, Abseil, GoogleTest and
#   gRPC is half of the work on a small target. Only where the files of a target are compiled as one; `debug`, where they are not, sees
#   that each includes what it uses.
function(mercer_precompiled_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;HEADERS;LINK")
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers/${name}.cc CONTENT "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/headers/${name}.cc)
  # Clang writes the time of each header into the file, with which the compiler cache would find nothing again.
  target_compile_options(${name} PRIVATE ${arg_OPTIONS} "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_link_libraries(${name} PRIVATE mercer_settings ${arg_LINK})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  set_target_properties(${name} PROPERTIES OPTIMIZE_DEPENDENCIES ON)
endfunction()

# mercer_use_headers(<target> <name>): compiles the target with the headers of that name.
function(mercer_use_headers target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:${name},COMPILE_OPTIONS>)  # with which the headers were read
  endif()
endfunction()

# mercer_program(<name> <main.cc> [LINK <target>...]): build/<preset>/bin/<name>; left out with a note while its main.cc is missing.
function(mercer_program name main)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINK")
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${main})
    message(STATUS "${name}: no ${main}, left out")
    return()
  endif()
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE ${arg_LINK} mercer_settings mercer_warnings)
  mercer_use_headers(${name} mercer_headers)
endfunction()

# mercer_glob(<variable> <pattern> [EXCLUDE <regex>...]): absolute paths; the build notices new and removed files by itself.
function(mercer_glob variable pattern)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "EXCLUDE")
  file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern})
  foreach(regex IN LISTS arg_EXCLUDE)
    list(FILTER found EXCLUDE REGEX ${regex})
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()
