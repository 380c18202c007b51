"""The largest number of places that keys of heaps distinguish (native/shared/heap.hpp)."""

from __future__ import annotations

# A key holds a price of at most 2**38 steps and a place below PLACES.
PLACES = 1 << 24
