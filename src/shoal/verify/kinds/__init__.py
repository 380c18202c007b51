"""What must hold for each kind of release that is not generalised, in code of the verifier's own."""
