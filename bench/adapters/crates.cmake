# Middleware that `cargo` fetches as crates from crates.io. Everything that is fetched and built stays below
# TACHOLOG_CRATES_DIR, which several builds may share. It is built once, optimised and without sanitizers, independent
# of the other settings. (What cargo downloads is in its own cache, CARGO_HOME.)
set(tacholog_least_cargo 1.89)  # iceoryx2 needs it; Debian's is older

# Sets `variable` to what the user must do before cargo can be used here; empty if it can be used.
function(tacholog_find_cargo variable)
  set(needed "install cargo ${tacholog_least_cargo} or newer (https://rustup.rs)")
  set(${variable} "" PARENT_SCOPE)
  find_program(TACHOLOG_CARGO cargo NO_CACHE)
  if(NOT TACHOLOG_CARGO)
    set(${variable} "${needed}" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${TACHOLOG_CARGO} --version OUTPUT_VARIABLE said ERROR_QUIET TIMEOUT 10)
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${said}")
  if(NOT version OR version VERSION_LESS tacholog_least_cargo)
    set(${variable} "${needed}: ${TACHOLOG_CARGO} is ${version}" PARENT_SCOPE)
  endif()
  set(TACHOLOG_CARGO ${TACHOLOG_CARGO} PARENT_SCOPE)
endfunction()

# Fetches the crates that the Cargo.lock of this folder names, and sets `variable` as above. Crates that cargo already
# has need no network. Without a network, the attempt to reach crates.io ends after a few seconds.
function(tacholog_fetch_crates folder variable)
  set(${variable} "" PARENT_SCOPE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/Cargo.lock)
  set(fetch ${TACHOLOG_CARGO} fetch --locked --quiet --manifest-path ${folder}/Cargo.toml)
  execute_process(COMMAND ${fetch} --offline RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET TIMEOUT 60)
  if(failed)
    message(STATUS "fetching the crates of ${folder}")
    execute_process(COMMAND ${CMAKE_COMMAND} -E env CARGO_NET_RETRY=1 CARGO_HTTP_TIMEOUT=5 ${fetch}
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET TIMEOUT 120)
  endif()
  if(failed)
    set(${variable} "cargo cannot fetch its crates: connect to crates.io, and configure again" PARENT_SCOPE)
  endif()
endfunction()

# Sets `variable` to the folder with the source of a crate that has been fetched.
function(tacholog_crate_source folder crate variable)
  execute_process(COMMAND ${TACHOLOG_CARGO} metadata --locked --offline --quiet --format-version 1 --manifest-path ${folder}/Cargo.toml
    OUTPUT_VARIABLE metadata TIMEOUT 60 COMMAND_ERROR_IS_FATAL ANY)
  string(JSON count LENGTH "${metadata}" packages)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    string(JSON name GET "${metadata}" packages ${index} name)
    if(name STREQUAL crate)
      string(JSON manifest GET "${metadata}" packages ${index} manifest_path)
      get_filename_component(source ${manifest} DIRECTORY)
      set(${variable} ${source} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
