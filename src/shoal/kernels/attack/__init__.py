"""What an attacker works out."""
