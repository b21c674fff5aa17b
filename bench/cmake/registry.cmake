# tacholog_transport(NAME SOURCES FILE... [LINK TARGET...]) and tacholog_reporter(NAME SOURCES FILE...):
# adds the sources and a line in the generated registry. The source defines one variable, named like the transport
# with `_` for `-`, in namespace tacholog::transports (or ::reporters). There is no list in C++.

function(tacholog_registry_entry registry name)
  cmake_parse_arguments(ENTRY "" "" "SOURCES;LINK" ${ARGN})
  target_sources(tacholog_${registry} PRIVATE ${ENTRY_SOURCES})
  target_link_libraries(tacholog_${registry} PRIVATE ${ENTRY_LINK})
  set_property(TARGET tacholog_${registry} APPEND PROPERTY TACHOLOG_ENTRIES ${name})
endfunction()

function(tacholog_transport name)
  tacholog_registry_entry(transports ${name} ${ARGN})
endfunction()

function(tacholog_reporter name)
  tacholog_registry_entry(reporters ${name} ${ARGN})
endfunction()

# Writes the registry of `transports` or `reporters`; call it after the last entry.
function(tacholog_write_registry registry type header)
  get_target_property(names tacholog_${registry} TACHOLOG_ENTRIES)
  list(SORT names)
  set(declarations "")
  set(pointers "")
  foreach(name IN LISTS names)
    string(REPLACE "-" "_" variable ${name})
    string(APPEND declarations "extern const ${type} ${variable};\n")
    string(APPEND pointers "    &${registry}::${variable},\n")
  endforeach()
  list(LENGTH names count)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${registry}_registry.cpp)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
// Written by CMake.
#include <array>

#include "@header@"

namespace tacholog {
namespace @registry@ {
@declarations@}  // namespace @registry@

namespace {
constexpr std::array<const @type@*, @count@> all{{
@pointers@}};
}  // namespace

std::span<const @type@* const> all_@registry@() {
    return all;
}

}  // namespace tacholog
]])
  target_sources(tacholog_${registry} PRIVATE ${file})
  list(JOIN names " " shown)
  message(STATUS "${registry}: ${shown}")
endfunction()
