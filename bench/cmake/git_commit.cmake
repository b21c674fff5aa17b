# Runs at every build: writes the commit of the checkout into a source file, if it has changed.
# Outside a checkout (an unpacked sdist, also one that lies inside somebody else's checkout) there is no commit.
# In: SOURCE_DIR, TEMPLATE, OUTPUT, and what the template names.
set(GIT_COMMIT "")
find_program(GIT git)
if(GIT)
  execute_process(
    COMMAND ${GIT} ls-files --error-unmatch CMakeLists.txt
    WORKING_DIRECTORY ${SOURCE_DIR} RESULT_VARIABLE not_ours OUTPUT_QUIET ERROR_QUIET)
  if(NOT not_ours)
    execute_process(
      COMMAND ${GIT} rev-parse HEAD
      WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE GIT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    # Only what this program is built from can make it dirty.
    execute_process(
      COMMAND ${GIT} status --porcelain -- . ":(exclude)campaigns"
      WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE changes ERROR_QUIET)
    if(GIT_COMMIT AND changes)
      string(APPEND GIT_COMMIT "-dirty")
    endif()
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
# For programs that are built elsewhere with this package.
file(CONFIGURE OUTPUT ${OUTPUT}.cmake CONTENT "set(tacholog_SOURCE_COMMIT \"@GIT_COMMIT@\")\n" @ONLY)
