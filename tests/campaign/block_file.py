#!/usr/bin/python3
"""Serves one file, `disk`, from a FUSE mount, and records each write to it and each synchronisation: a block device that remembers its order.

    block_file.py FOLDER IMAGE LOG    # until the folder is unmounted; needs root

IMAGE has the content, and is written. LOG has one entry for each request, in their order: nanoseconds of CLOCK_MONOTONIC, offset and length as 64-bit
numbers, and the bytes written. A synchronisation is an entry of offset -1. Prints a line once the file is there. See fuse(4) and linux/fuse.h."""
import ctypes
import errno
import os
import stat
import struct
import sys
import time

ENTRY = struct.Struct("=qqq")
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR = 1, 2, 3, 4, 14, 15, 16, 17, 18, 20, 25, 26, 27
READDIR, RELEASEDIR, INTERRUPT, DESTROY, BATCH_FORGET = 28, 29, 36, 38, 42
ROOT, FILE = 1, 2
BIG_WRITES, MOST_BYTES = 1 << 5, 128 * 1024


def main(folder, image, log_path):
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"hpo-disk", os.fsencode(folder), b"fuse", 0, options) != 0:
        sys.exit(f"{folder}: cannot be mounted: {os.strerror(ctypes.get_errno())}")
    disk, log = os.open(image, os.O_RDWR), open(log_path, "wb")
    size = os.fstat(disk).st_size

    def attributes(node):
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o600
        return struct.pack("=6Q10I", node, 0 if node == ROOT else size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(operation, node, data):
        """Returns an error number and the payload."""
        if operation == INIT:
            return 0, struct.pack("=4I2H2I2HI7I", 7, 31, MOST_BYTES, BIG_WRITES, 12, 9, MOST_BYTES, 1, 0, 0, 0, *[0] * 7)
        if operation == LOOKUP:
            return (0, struct.pack("=4Q2I", FILE, 0, 3600, 3600, 0, 0) + attributes(FILE)) if data == b"disk\0" else (errno.ENOENT, b"")
        if operation in (GETATTR, SETATTR):
            return 0, struct.pack("=Q2I", 3600, 0, 0) + attributes(node)
        if operation in (OPEN, OPENDIR):
            return 0, struct.pack("=Q2I", 0, 0, 0)
        if operation == READ:
            _, offset, length = struct.unpack_from("=QQI", data)
            return 0, os.pread(disk, length, offset)
        if operation == WRITE:
            _, offset, length = struct.unpack_from("=QQI", data)
            content = data[40:40 + length]
            log.write(ENTRY.pack(time.monotonic_ns(), offset, length) + content)
            return 0, struct.pack("=2I", os.pwrite(disk, content, offset), 0)
        if operation == FSYNC:
            log.write(ENTRY.pack(time.monotonic_ns(), -1, 0))
            return 0, b""
        if operation == STATFS:
            return 0, bytes(80)
        return (0, b"") if operation in (RELEASE, RELEASEDIR, READDIR, FLUSH, DESTROY) else (errno.ENOSYS, b"")

    print("mounted", flush=True)
    while True:
        try:
            request = os.read(device, MOST_BYTES + 4096)
        except InterruptedError:
            continue
        except OSError:  # unmounted
            break
        _, operation, unique, node = struct.unpack_from("=IIQQ", request)
        if operation in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        error, payload = answer(operation, node, request[40:])
        try:
            os.write(device, struct.pack("=IiQ", 16 + len(payload), -error, unique) + payload)
        except FileNotFoundError:  # the request was interrupted
            pass
    log.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
