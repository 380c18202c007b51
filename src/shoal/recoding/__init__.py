"""How released values come about: the lattice of levels, recodings, and the text of generalised cells."""
