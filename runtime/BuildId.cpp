// BuildId: the GNU build-id note of the file that is mapped at this code.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/BuildId.h"

#include <cstdint>
#include <cstdio>
#include <elf.h>
#include <link.h>

namespace recurra {
namespace {

bool holds(const dl_phdr_info &file, const ElfW(Phdr) & segment,
           std::uintptr_t address) {
  std::uintptr_t begin = file.dlpi_addr + segment.p_vaddr;
  return segment.p_type == PT_LOAD && begin <= address &&
         address < begin + segment.p_memsz;
}

std::uintptr_t aligned(std::uintptr_t size) {
  return (size + 3) & ~std::uintptr_t{3};
}

/// The build id among the notes of one segment; empty if it is not there.
std::string idAmong(const char *notes, std::size_t bytes) {
  for (const char *end = notes + bytes; notes + sizeof(ElfW(Nhdr)) <= end;) {
    const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(notes);
    const char *owner = notes + sizeof(*note);
    const char *content = owner + aligned(note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID) {
      std::string id;
      for (std::size_t i = 0; i < note->n_descsz; ++i) {
        char hex[3];
        std::snprintf(hex, sizeof(hex), "%02x",
                      static_cast<unsigned char>(content[i]));
        id += hex;
      }
      return id;
    }
    notes = content + aligned(note->n_descsz);
  }
  return "";
}

/// Called for every loaded file; stops at the one that holds this function.
int visitFile(dl_phdr_info *file, std::size_t, void *result) {
  bool ours = false;
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    ours = ours || holds(*file, file->dlpi_phdr[i],
                         reinterpret_cast<std::uintptr_t>(&visitFile));
  }
  for (int i = 0; ours && i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = file->dlpi_phdr[i];
    if (segment.p_type == PT_NOTE) {
      std::uintptr_t address = file->dlpi_addr + segment.p_vaddr;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): as the loader gives it
      const auto *notes = reinterpret_cast<const char *>(address);
      *static_cast<std::string *>(result) += idAmong(notes, segment.p_memsz);
    }
  }
  return ours ? 1 : 0;
}

} // namespace

const std::string &buildId() {
  static const std::string id = [] {
    std::string found;
    ::dl_iterate_phdr(visitFile, &found);
    return found;
  }();
  return id;
}

} // namespace recurra
