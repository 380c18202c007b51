"""Results to pages: plain data in, one self-contained file out that fetches nothing from anywhere."""
