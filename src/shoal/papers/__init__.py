"""The five documents, reproduced: one module a paper, built on the public interface alone."""
