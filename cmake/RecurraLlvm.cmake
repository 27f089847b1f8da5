# LLVM and MLIR as two targets: recurraLlvm, the shared libraries that development
# builds link, and recurraLlvmArchives, to be hidden inside a packaged library.
# By path, since Debian's static MLIR targets pull libLLVM.so in as well.
include_guard(GLOBAL)
find_package(MLIR REQUIRED CONFIG)

add_library(recurraLlvm INTERFACE)
target_include_directories(recurraLlvm SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_link_libraries(recurraLlvm INTERFACE
  ${LLVM_LIBRARY_DIR}/libMLIR.so ${LLVM_LIBRARY_DIR}/libLLVM.so)

file(GLOB archives
  ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER archives EXCLUDE REGEX "CAPI|Test|BOLT|Exegesis|Fuzz")
add_library(recurraLlvmArchives INTERFACE)
target_link_libraries(recurraLlvmArchives INTERFACE
  -Wl,--start-group ${archives} -Wl,--end-group
  -l:libz.a -l:libzstd.a pthread dl m)
