"""Projects: their folders, uploads and the versions of their recipes."""
