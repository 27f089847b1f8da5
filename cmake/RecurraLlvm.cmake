# The target recurraLlvm: LLVM and MLIR as shared libraries in development, or as
# archives to be hidden inside librecurra.so (RECURRA_STATIC_LLVM). Never mix the
# two: Debian's static MLIR targets pull libLLVM.so in, hence paths, not targets.
include_guard(GLOBAL)
find_package(MLIR REQUIRED CONFIG)

add_library(recurraLlvm INTERFACE)
target_include_directories(recurraLlvm SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
if(RECURRA_STATIC_LLVM)
  file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
  list(FILTER archives EXCLUDE REGEX "CAPI|Test|BOLT|Exegesis|Fuzz")
  target_link_libraries(recurraLlvm INTERFACE
    -Wl,--start-group ${archives} -Wl,--end-group
    -l:libz.a -l:libzstd.a pthread dl m)
else()
  target_link_libraries(recurraLlvm INTERFACE
    ${LLVM_LIBRARY_DIR}/libMLIR.so ${LLVM_LIBRARY_DIR}/libLLVM.so)
endif()
