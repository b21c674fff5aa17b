# `cmake --install` gives perftest, and a package for programs that are built elsewhere: libraries, the headers of the interface, and the commands
# of tachologConfig.cmake.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tacholog)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/tacholog)
foreach(target core transports cli reporters rig)
  set_target_properties(tacholog_${target} PROPERTIES EXPORT_NAME ${target})
  target_include_directories(tacholog_${target} INTERFACE $<INSTALL_INTERFACE:${headers}>)
endforeach()
install(TARGETS tacholog_core tacholog_transports tacholog_cli tacholog_reporters tacholog_rig tacholog_warnings EXPORT tacholog ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS perftest RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT tacholog NAMESPACE tacholog:: FILE tachologTargets.cmake DESTINATION ${package})
install(DIRECTORY base machine transports cli reporters control rig DESTINATION ${headers} FILES_MATCHING PATTERN "*.hpp")
install(FILES build_info.hpp DESTINATION ${headers})

configure_package_config_file(cmake/tachologConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tachologConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tachologConfigVersion.cmake COMPATIBILITY ExactVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tachologConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tachologConfigVersion.cmake cmake/registry.cmake
  cmake/build_info.cpp.in ${build_info}.cmake main.cpp DESTINATION ${package})
