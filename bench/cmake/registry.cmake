# tacholog_transport(NAME [SOURCES FILE...] [LINK LIBRARY...]) adds the sources to the target that `tacholog_target` names, and a line to the
# generated registry. A source defines one variable for each transport, named like it with `_` for `-`, in namespace tacholog::transports. There is
# no list in C++.
#
# tacholog_left_out(NAME REMEDY) says what to install for a transport that this build does not have: "install libzmq3-dev". With
# TACHOLOG_REQUIRE_ALL this is an error (not a FATAL_ERROR, so that one attempt names all that is missing).
# tacholog_switched_off(REMEDY NAME...) is for transports that an option of the build has left out, on purpose.
if(TACHOLOG_REQUIRE_ALL)
  set(tacholog_missing SEND_ERROR)
else()
  set(tacholog_missing STATUS)
endif()

function(tacholog_transport name)
  cmake_parse_arguments(ENTRY "" "" "SOURCES;LINK" ${ARGN})
  if(ENTRY_SOURCES)
    target_sources(${tacholog_target} PRIVATE ${ENTRY_SOURCES})
  endif()
  if(ENTRY_LINK)
    target_link_libraries(${tacholog_target} PRIVATE ${ENTRY_LINK})
  endif()
  set_property(TARGET ${tacholog_target} APPEND PROPERTY TACHOLOG_ENTRIES ${name})
endfunction()

function(tacholog_left_out name remedy)
  set_property(GLOBAL APPEND PROPERTY TACHOLOG_LEFT_OUT "${name}|${remedy}")
  message(${tacholog_missing} "${name} is left out: ${remedy}")
endfunction()

function(tacholog_switched_off remedy)
  foreach(name IN LISTS ARGN)
    set_property(GLOBAL APPEND PROPERTY TACHOLOG_LEFT_OUT "${name}|${remedy}")
  endforeach()
  list(JOIN ARGN " " shown)
  message(STATUS "switched off: ${shown} (${remedy})")
endfunction()

# Writes the source `file` with the registry of transports: the names that follow.
function(tacholog_write_registry file)
  set(names ${ARGN})
  list(SORT names)
  set(declarations "")
  set(pointers "")
  foreach(name IN LISTS names)
    string(REPLACE "-" "_" variable ${name})
    string(APPEND declarations "extern const Transport ${variable};\n")
    string(APPEND pointers "    &transports::${variable},\n")
  endforeach()
  list(LENGTH names count)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
// Written by CMake.
#include <array>

#include "transports/transport.hpp"

namespace tacholog {
namespace transports {
@declarations@}  // namespace transports

namespace {
constexpr std::array<const Transport*, @count@> all{{
@pointers@}};
}  // namespace

std::span<const Transport* const> all_transports() {
    return all;
}

}  // namespace tacholog
]])
  list(JOIN names " " shown)
  message(STATUS "transports: ${shown}")
endfunction()

# Writes the source `file` with what tacholog_left_out() and tacholog_switched_off() have named.
function(tacholog_write_left_out file)
  get_property(entries GLOBAL PROPERTY TACHOLOG_LEFT_OUT)
  set(rows "")
  foreach(entry IN LISTS entries)
    string(REGEX REPLACE "^([^|]*)\\|(.*)$" "    LeftOut{\"\\1\", \"\\2\"},\n" row "${entry}")
    string(APPEND rows "${row}")
  endforeach()
  list(LENGTH entries count)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
// Written by CMake.
#include <array>

#include "transports/transport.hpp"

namespace tacholog {

std::span<const LeftOut> transports_left_out() {
    static constexpr std::array<LeftOut, @count@> all{{
@rows@}};
    return all;
}

}  // namespace tacholog
]])
endfunction()
