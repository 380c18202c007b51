"""What an attacker can do with a release, measured: each attack has a value, an interval and a baseline."""
