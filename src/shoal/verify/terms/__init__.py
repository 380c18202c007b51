"""What the verifier knows of each model: a :class:`~shoal.verify.terms.base.Term`, in the file of its family."""
