# mercer_proto_library(<name> <folder>): every <folder>/**/*.proto, compiled by protoc into ${build}/proto.
# Included as "mercer/v1/job.pb.h", and "mercer/v1/job.grpc.pb.h" where the file declares a service.
function(mercer_proto_library name folder)
  set(root ${PROJECT_SOURCE_DIR}/${folder})
  set(out ${PROJECT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  file(GLOB_RECURSE protos CONFIGURE_DEPENDS RELATIVE ${root} ${root}/*.proto)
  set(generated "")
  foreach(proto IN LISTS protos)
    mercer_proto_compile(outputs ${root} ${out} ${proto})
    list(APPEND generated ${outputs})
  endforeach()
  if(NOT generated)
    add_library(${name} INTERFACE)
    target_include_directories(${name} SYSTEM INTERFACE ${out})
    target_link_libraries(${name} INTERFACE mercer_settings gRPC::grpc++ protobuf::libprotobuf)
    return()
  endif()
  add_library(${name} STATIC ${generated})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  if(CMAKE_UNITY_BUILD)
    mercer_join_generated(${name} ${out} "${generated}")
  endif()
  # -O1 -w: three quarters of the compile time of -O2 for code that only shuffles fields, and its warnings are protoc's business.
  target_compile_options(${name} PRIVATE -w -O1)
  if(MERCER_SANITIZE)
    target_compile_options(${name} PRIVATE -fno-sanitize=all)  # protoc's business too, and instrumented it takes minutes to compile
  endif()
  target_include_directories(${name} SYSTEM PUBLIC ${out})
  target_link_libraries(${name} PUBLIC mercer_settings gRPC::grpc++ protobuf::libprotobuf)
endfunction()

# mercer_join_generated(<target> <out> <files>): compiles the generated files of <target> as one, in a quarter of the time. CMake's own way
# does not do, because each of them defines two names of protoc's that are the same in all.
function(mercer_join_generated target out files)
  list(FILTER files INCLUDE REGEX "\\.cc$")
  set_source_files_properties(${files} PROPERTIES HEADER_FILE_ONLY ON)
  set(content "")
  foreach(file IN LISTS files)
    file(RELATIVE_PATH file ${out} ${file})
    string(MAKE_C_IDENTIFIER ${file} suffix)
    foreach(shared file_default_instances schemas)
      string(APPEND content "#define ${shared} ${shared}_${suffix}\n")
    endforeach()
    string(APPEND content "#include \"${file}\"\n#undef file_default_instances\n#undef schemas\n")
  endforeach()
  set(joined ${PROJECT_BINARY_DIR}/${target}_joined.cc)
  file(CONFIGURE OUTPUT ${joined} CONTENT "${content}" @ONLY)
  set_source_files_properties(${joined} PROPERTIES OBJECT_DEPENDS "${files}")
  target_sources(${target} PRIVATE ${joined})
endfunction()

# mercer_proto_compile(<variable> <root> <out> <proto>): the rule for one file; <variable> lists what it generates.
function(mercer_proto_compile variable root out proto)
  string(REGEX REPLACE "\\.proto$" "" stem ${out}/${proto})
  set(outputs ${stem}.pb.cc ${stem}.pb.h)
  set(grpc_flags "")
  file(STRINGS ${root}/${proto} services REGEX "^service ")
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${root}/${proto})
  if(services)
    list(PREPEND outputs ${stem}.grpc.pb.cc ${stem}.grpc.pb.h)  # in protoc's order, which ninja compares with the first output
    set(grpc_flags --plugin=protoc-gen-grpc=${MERCER_GRPC_CPP_PLUGIN} --grpc_out=${out})
  endif()
  add_custom_command(
    OUTPUT ${outputs}
    # The second folder holds google/protobuf/*.proto; protoc finds it by itself only where /proc is mounted.
    COMMAND protobuf::protoc -I ${root} -I ${Protobuf_INCLUDE_DIRS} --cpp_out=${out} ${grpc_flags} --dependency_out=${stem}.proto.d ${root}/${proto}
    DEPENDS ${root}/${proto}
    DEPFILE ${stem}.proto.d
    COMMENT "protoc ${proto}"
    VERBATIM)
  set(${variable} ${outputs} PARENT_SCOPE)
endfunction()
