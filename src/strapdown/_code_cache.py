"""Machine code on disk, which several processes may write at the same time."""

from __future__ import annotations

from hashlib import blake2s
from typing import TYPE_CHECKING

from numba.core.caching import FunctionCache, IndexDataCacheFile

if TYPE_CHECKING:
    from types import FunctionType

__all__ = ["CodeCache"]


class CodeCache(FunctionCache):
    """The machine code of one kernel, for each signature.

    Raises
    ------
    RuntimeError
        There is no folder to write to.
    """

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        base = self._impl.filename_base
        self._cache_file = _CodeFiles(self.cache_path, base, self._impl.locator.get_source_stamp())


class _CodeFiles(IndexDataCacheFile):
    """One file for each signature, named by it.

    Numba numbers these files and keeps an index. Of two processes that compile a kernel for
    different arguments at the same time, one could then find the code of the other.
    """

    def save(self, key: object, data: object) -> None:
        self._save_data(self._name(key), (self._source_stamp, data))

    def load(self, key: object) -> object:
        try:
            stamp, data = self._load_data(self._name(key))
        except OSError:
            return None
        return data if stamp == self._source_stamp else None

    def _name(self, key: object) -> str:
        signature = blake2s(repr((self._version, key)).encode(), digest_size=8).hexdigest()
        return str(self._data_name_pattern).replace("{number:d}", signature)
