// Files and folders by POSIX. libtorch exports its own half of std::filesystem,
// which breaks any program that calls it with libtorch loaded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace recurra {

/// folder/name
std::string inFolder(std::string folder, const std::string &name);

bool pathExists(const std::string &path);

/// Names in a folder; none if there is no such folder.
std::vector<std::string> listFolder(const std::string &path);

// The rest throw UserError naming the path and the system's reason.

/// Makes a folder and those above it.
void makeFolders(const std::string &path);

/// Removes a folder of files, if it exists.
void removeFolder(const std::string &path);

/// Renames; replaces a file, never a folder that holds something.
void renamePath(const std::string &from, const std::string &to);

/// Waits until renames inside a folder are on the disk.
void syncFolder(const std::string &path);

/// The whole of a file.
std::string readFile(const std::string &path);

} // namespace recurra
