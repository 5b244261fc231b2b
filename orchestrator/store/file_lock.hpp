// The lock of a whole file. It belongs to the open file and ends with its last descriptor, also when its process is
// killed.
#pragma once

namespace hpo {

/// Takes the lock for this process alone. Returns false, with errno: EAGAIN (or EACCES) if another open file has it.
bool lock_file(int descriptor);

/// Returns true if another open file has the lock.
bool is_file_locked(int descriptor);

/// Returns true if the file system can lock files, for an open file or folder; else false, with errno.
bool knows_file_locks(int descriptor);

}  // namespace hpo
