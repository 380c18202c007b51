"""What Loukides' Tables 4.4 to 4.7 print: relative quality loss; the column heads of Table 4.3 are lost."""

from __future__ import annotations

# By table and the value varied.
DELTAS_PRINTED: dict[str, dict[str, float]] = {
    "T4.4": {"0.5": 0.0, "1.0": 0.0, "2.5": 0.041, "5.0": 7.62e-4, "Adult": 0.043},
    "T4.5": {"2": 1.47e-5, "5": 0.0, "10": 1.47e-5, "50": 0.0, "100": 0.0075},
    "T4.6": {"2": 0.041, "3": 2.99e-5, "4": 2.99e-5, "5": 2.99e-5, "6": 0.0},
}
# By k and iterations (Table 4.7).
SIZES_PRINTED: dict[int, dict[int, float]] = {
    2: {1: 2.53e-4, 2: 2.57e-4, 3: 2.49e-4, 4: 0.0, 5: 0.0},
    5: {1: 0.0169, 2: 0.0188, 3: 0.0116, 4: 4.27e-4, 5: 4.23e-4},
    10: {1: 0.0257, 2: 0.0260, 3: 0.0218, 4: 0.0106, 5: 0.0106},
    50: {1: 0.0551, 2: 0.0413, 3: 0.0402, 4: 0.0221, 5: 0.0221},
    100: {1: 0.0556, 2: 0.0552, 3: 0.0505, 4: 0.0204, 5: 0.0204},
}
