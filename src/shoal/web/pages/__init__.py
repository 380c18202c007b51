"""One module a page; each has a router, and every module in here is found by itself."""
