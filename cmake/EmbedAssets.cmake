# Writes OUT/asset_table.cc, which holds the files of the folder ROOT, and FILE as FILE_PATH; see MercerAssets.cmake. The assembler
# takes their bytes from files beside it, which is a thousand times faster than to compile them as arrays.
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*)
list(SORT files)
list(TRANSFORM files PREPEND /)
list(APPEND files ${FILE_PATH})
set(declarations "")
set(entries "")
set(index 0)
foreach(file IN LISTS files)
  set(content ${ROOT}${file})
  if(file STREQUAL FILE_PATH)
    set(content ${FILE})
  endif()
  set(gzip false)
  execute_process(COMMAND gzip --no-name --best --stdout ${content} OUTPUT_FILE ${OUT}/${index}.gz COMMAND_ERROR_IS_FATAL ANY)
  file(SIZE ${content} plain_bytes)
  file(SIZE ${OUT}/${index}.gz compressed_bytes)
  if(compressed_bytes LESS plain_bytes)
    set(content ${OUT}/${index}.gz)
    set(gzip true)
  endif()
  file(SHA256 ${content} digest)
  string(SUBSTRING ${digest} 0 32 digest)
  string(APPEND declarations "
extern \"C\" const char mercer_asset_${index}[];
extern \"C\" const char mercer_asset_${index}_end[];
asm(\".section .rodata\\n.global mercer_asset_${index}\\n.global mercer_asset_${index}_end\\n\"
    \"mercer_asset_${index}:\\n.incbin \\\"${content}\\\"\\n\"
    \"mercer_asset_${index}_end:\\n.byte 0\\n.previous\\n\");
")
  string(APPEND entries "      {\"${file}\", Bytes(mercer_asset_${index}, mercer_asset_${index}_end), ${gzip}, \"${digest}\"},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT}/asset_table.cc "#include \"server/gateway/assets.h\"
${declarations}
namespace mercer::gateway {
namespace {
std::string_view Bytes(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

}  // namespace

absl::Span<const Asset> BuiltInAssets() {
  static const Asset kAssets[] = {
${entries}  };
  return kAssets;
}

}  // namespace mercer::gateway
")
