"""chdb's native module. The package's __init__ is not run: to find its version, it starts an engine
in memory, which takes time and 20 MB."""

import ctypes
import os
import sys

from bare import import_bare

_folder = import_bare("chdb").__path__[0]
if hasattr(os, "RTLD_DEEPBIND"):
    # As the __init__ does: the library allocates with its own allocator, whatever else is loaded.
    ctypes.CDLL(os.path.join(_folder, "_chdb.abi3.so"), mode=sys.getdlopenflags() | os.RTLD_DEEPBIND)

from chdb import _chdb  # noqa: F401
