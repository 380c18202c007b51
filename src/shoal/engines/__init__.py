"""Where group statistics are computed; every engine gives the same figures."""
