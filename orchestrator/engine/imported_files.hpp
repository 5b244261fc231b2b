// The files of a Python program that lie beside it: the modules that its text imports. Nothing is executed.
#pragma once

#include <filesystem>
#include <vector>

namespace hpo {

/// Returns the modules and packages that the program imports from its own folder, directly or by each other, in the
/// order of their first import, without the program. Found are `import a.b` and `from a import b` on a line of their
/// own, also relative ones; not found are modules whose names the program computes, and those of other folders.
std::vector<std::filesystem::path> imported_files(const std::filesystem::path& program);

}  // namespace hpo
