# The install tree that needs no LLVM: `recurra-package` builds it in
# ${CMAKE_BINARY_DIR}/package. Included last, when every room has its targets.
#   lib/                librecurra.so (LLVM inside), librecurra_ops.so, archives
#   lib/cmake/Recurra/  find_package(Recurra): Recurra::recurra, ::kernel, ::ops
#   include/recurra/    dsl/dsl.h, runtime/Kernel.h, ops/Ops.h, ..
#   python/             import recurra
set(tree ${CMAKE_BINARY_DIR}/package)
set(archives recurraDsl recurraSpec recurraHostTensor recurraKernel
  recurraCatalogue)
set(packaged recurraPackaged ${archives})

install(TARGETS ${archives} COMPONENT package EXCLUDE_FROM_ALL
  ARCHIVE DESTINATION lib
  FILE_SET HEADERS DESTINATION include/recurra)
install(PROGRAMS $<TARGET_FILE:recurraPackaged> DESTINATION lib
  COMPONENT package EXCLUDE_FROM_ALL)
foreach(header runtime/recurra.h compiler/Spec.h ops/Ops.h
    ops/catalogue/Catalogue.h)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${CMAKE_SOURCE_DIR}/${header}
    DESTINATION include/recurra/${folder} COMPONENT package EXCLUDE_FROM_ALL)
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE
  DESTINATION . COMPONENT package EXCLUDE_FROM_ALL)

if(TARGET recurra_ops) # its folder installs the Python files
  list(APPEND packaged recurra_ops recurra_dsl_python)
  install(TARGETS recurra_ops COMPONENT package EXCLUDE_FROM_ALL
    LIBRARY DESTINATION lib)
endif()

include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/RecurraConfig.cmake.in
  ${CMAKE_BINARY_DIR}/RecurraConfig.cmake
  INSTALL_DESTINATION lib/cmake/Recurra)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/RecurraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_BINARY_DIR}/RecurraConfig.cmake
  ${CMAKE_BINARY_DIR}/RecurraConfigVersion.cmake
  DESTINATION lib/cmake/Recurra COMPONENT package EXCLUDE_FROM_ALL)

add_custom_target(recurra-package
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${tree}
  COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR}
    --prefix ${tree} --component package
  COMMENT "Installing into ${tree}"
  DEPENDS ${packaged})
