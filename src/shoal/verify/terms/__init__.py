"""What the verifier knows of each model: a frozen :class:`~shoal.verify.terms.base.Term` in a file of its own."""
