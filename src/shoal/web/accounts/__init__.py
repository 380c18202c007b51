"""Who may come in: passwords, sessions, tokens, second factors, and limits on trying."""
