"""The same for programs, under /api/v1; every module in here that has a router is found by itself."""
