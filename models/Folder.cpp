// Files and folders by POSIX.
// SPDX-License-Identifier: Apache-2.0
#include "models/Folder.h"

#include "dsl/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace recurra {
namespace {

[[noreturn]] void fail(const char *verb, const std::string &path) {
  throw UserError("cannot " + std::string(verb) + " " + path + ": " +
                  std::strerror(errno));
}

} // namespace

std::string inFolder(std::string folder, const std::string &name) {
  folder += '/';
  folder += name;
  return folder;
}

bool pathExists(const std::string &path) {
  return ::access(path.c_str(), F_OK) == 0;
}

std::vector<std::string> listFolder(const std::string &path) {
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(::opendir(path.c_str()),
                                                    &::closedir);
  std::vector<std::string> names;
  while (const dirent *entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      names.push_back(name);
    }
  }
  return names;
}

void makeFolders(const std::string &path) {
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
      fail("make the folder", part);
    }
  }
}

void removeFolder(const std::string &path) {
  for (const std::string &name : listFolder(path)) {
    ::unlink(inFolder(path, name).c_str());
  }
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT) {
    fail("remove", path);
  }
}

void renamePath(const std::string &from, const std::string &to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    fail("write", to);
  }
}

void syncFolder(const std::string &path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0 || ::fsync(descriptor) != 0) {
    fail("sync", path);
  }
  ::close(descriptor);
}

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (in.peek() != std::ifstream::traits_type::eof()) {
    content << in.rdbuf();
  }
  if (!in.is_open() || in.bad() || content.fail()) {
    fail("read", path);
  }
  return std::move(content).str();
}

} // namespace recurra
